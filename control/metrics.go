package control

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"maskstream/sink"
)

// Collector adds metrics to /metrics; it is asked at every scrape, from any goroutine.
type Collector = prometheus.Collector

// newMetrics serves the streams' counters, the process's under the names of Prometheus' own libraries, and those of others. The
// registry is this server's alone. The error says which two collectors want the same name.
func newMetrics(service *Service, others []Collector, log *slog.Logger) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	var errs []error
	for _, c := range append([]Collector{
		newStreamMetrics(service), newPastMetrics(service), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}, others...) {
		errs = append(errs, registry.Register(c))
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError, // one bad family hides no other
	}), errors.Join(errs...)
}

// family is a metric's name, type and labels. Labels never hold URLs or object ids: their number has to stay small.
type family struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

// sample is one value with the labels' values in their order.
func (f family) sample(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(f.Desc, f.kind, value, labels...)
}

// BuildMetrics says which program this is.
func BuildMetrics(version string) Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tracker_build_info", Help: "The program's version.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}

// SessionMetrics says how many viewers of the WebRTC preview there are, connecting ones among them.
func SessionMetrics(viewers func() int) Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tracker_webrtc_sessions", Help: "Sessions of the WebRTC preview, of all streams, from the offer on.",
	}, func() float64 { return float64(viewers()) })
}

// natsMetrics is what a connection did.
type natsMetrics struct {
	connection                                         *sink.Connection
	connected, published, bytes, reconnects, unwritten family
}

// NATSMetrics collects what a connection did.
func NATSMetrics(connection *sink.Connection) Collector {
	return &natsMetrics{
		connection: connection,
		connected:  gauge("tracker_nats_connected", "Whether the NATS server is reached."),
		published:  counter("tracker_nats_publish_total", "Messages, by what became of them.", "result"),
		bytes:      counter("tracker_nats_publish_bytes_total", "Bytes of headers and data."),
		reconnects: counter("tracker_nats_reconnects_total", "Times the connection came back."),
		unwritten:  gauge("tracker_nats_buffered_bytes", "Bytes not yet written to the socket."),
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
	to <- m.published.sample(float64(s.Failed), "error")
	to <- m.bytes.sample(float64(s.Bytes))
	to <- m.reconnects.sample(float64(s.Reconnects))
	to <- m.unwritten.sample(float64(s.Buffered))
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
