package control

import (
	"github.com/prometheus/client_golang/prometheus"

	"maskstream/sink"
)

// natsMetrics is what a connection did.
type natsMetrics struct {
	connection                                         *sink.Connection
	store                                              *sink.Store // nil without JetStream
	connected, published, bytes, reconnects, unwritten family
	stored, again, waiting, waitingBytes               family
}

// NATSMetrics collects what a connection did, and what was stored over it; store may be nil.
func NATSMetrics(connection *sink.Connection, store *sink.Store) Collector {
	return &natsMetrics{
		connection:   connection,
		store:        store,
		stored:       counter("tracker_jetstream_total", "Messages for JetStream, by what became of them.", "result"),
		again:        counter("tracker_jetstream_again_total", "Messages sent again that JetStream had already."),
		waiting:      gauge("tracker_spool_messages", "Messages on disk that JetStream has not taken yet."),
		waitingBytes: gauge("tracker_spool_bytes", "Bytes of the spool on disk."),
		connected:    gauge("tracker_nats_connected", "Whether the NATS server is reached."),
		published:    counter("tracker_nats_publish_total", "Messages, by what became of them.", "result"),
		bytes:        counter("tracker_nats_publish_bytes_total", "Bytes of headers and data."),
		reconnects:   counter("tracker_nats_reconnects_total", "Times the connection came back."),
		unwritten:    gauge("tracker_nats_buffered_bytes", "Bytes not yet written to the socket."),
	}
}

// Describe implements prometheus.Collector.
func (m *natsMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m *natsMetrics) Collect(to chan<- prometheus.Metric) {
	s := m.connection.Stats()
	to <- m.connected.sample(flag(s.Connected))
	to <- m.published.sample(float64(s.Published), "ok")
	to <- m.published.sample(float64(s.Down), "disconnected")
	to <- m.published.sample(float64(s.TooLarge), "too_large")
	to <- m.published.sample(float64(s.Denied), "denied")
	to <- m.published.sample(float64(s.Failed), "error")
	to <- m.bytes.sample(float64(s.Bytes))
	to <- m.reconnects.sample(float64(s.Reconnects))
	to <- m.unwritten.sample(float64(s.Buffered))
	if m.store == nil {
		return
	}
	stored := m.store.Stats()
	to <- m.stored.sample(float64(stored.Stored), "ok")
	to <- m.stored.sample(float64(stored.Failed), "error")
	to <- m.stored.sample(float64(stored.Dropped), "spool_full")
	to <- m.again.sample(float64(stored.Again))
	to <- m.waiting.sample(float64(stored.Waiting))
	to <- m.waitingBytes.sample(float64(stored.Bytes))
}
