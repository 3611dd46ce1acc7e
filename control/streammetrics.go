package control

import (
	"github.com/prometheus/client_golang/prometheus"

	"maskstream/sink"
)

// streamMetrics are the counters of every stream that the service knows at the time of a scrape.
type streamMetrics struct {
	service *Service
	streams []streamFamily
	sinks   []sinkFamily
	dropped family
	webrtc  family // what its viewers did not get
	failed  family
	lost    family
	latency *prometheus.Desc
}

type streamFamily struct {
	family
	value func(*StreamStatus) float64
}

type sinkFamily struct {
	family
	value func(sink.Stats) float64
}

func newStreamMetrics(service *Service) *streamMetrics {
	m := &streamMetrics{
		service: service,
		dropped: counter("tracker_source_frames_dropped_total", "Frames left out, by place and reason.", "stream", "stage", "reason"),
		webrtc:  counter("tracker_webrtc_dropped_total", "Masks and pictures that a viewer of the WebRTC preview did not get, by reason.", "stream", "reason"),
		failed:  counter("tracker_source_failures_total", "Times the source could not be reached or was lost, by reason.", "stream", "reason"),
		lost:    counter("tracker_source_reconnects_total", "Times the source was lost and opened again, by reason.", "stream", "reason"),
		latency: prometheus.NewDesc("tracker_frame_latency_seconds", "How long one frame takes, by stage.", []string{"stream", "stage"}, nil),
	}
	of := func(f func(name, help string, labels ...string) family, name, help string, value func(*StreamStatus) float64) {
		m.streams = append(m.streams, streamFamily{f(name, help, "stream"), value})
	}
	of(gauge, "tracker_source_up", "Whether frames come and are tracked.", func(s *StreamStatus) float64 { return flag(s.State == Up) })
	of(counter, "tracker_source_frames_decoded_total", "Pictures decoded.", func(s *StreamStatus) float64 { return float64(s.Counters.Decoded) })
	of(counter, "tracker_source_decode_errors_total", "Packets that the decoder refused, and pictures that it had to mend.", func(s *StreamStatus) float64 { return float64(s.Counters.DecodeErrors) })
	of(counter, "tracker_source_timestamp_jumps_total", "Jumps of the source's time: backward, or forward by more than ten seconds.", func(s *StreamStatus) float64 { return float64(s.Counters.TimestampJumps) })
	of(gauge, "tracker_source_last_frame_timestamp_seconds", "When the last frame came, 0 before the first.", func(s *StreamStatus) float64 {
		if s.Counters.LastFrame.IsZero() {
			return 0
		}
		return float64(s.Counters.LastFrame.UnixMilli()) / 1e3
	})
	of(gauge, "tracker_objects", "Objects tracked.", func(s *StreamStatus) float64 { return float64(len(s.Objects)) })
	of(gauge, "tracker_preview_viewers", "Viewers of the MJPEG preview.", func(s *StreamStatus) float64 { return float64(s.Viewers) })
	of(gauge, "tracker_webrtc_viewers", "Viewers of the WebRTC preview.", func(s *StreamStatus) float64 { return float64(s.webrtc().Viewers) })
	of(gauge, "tracker_webrtc_buffered_bytes", "Masks that wait for the network to viewers.", func(s *StreamStatus) float64 { return float64(s.webrtc().Buffered) })
	of(counter, "tracker_masks_encoded_bytes_total", "Bytes of run-length masks.", func(s *StreamStatus) float64 { return float64(s.Counters.MaskBytes) })

	m.sinks = []sinkFamily{
		{counter("tracker_sink_written_total", "Items given to a sink.", "stream", "sink"), func(s sink.Stats) float64 { return float64(s.Written) }},
		{counter("tracker_sink_dropped_total", "Items that a sink, or its queue, dropped.", "stream", "sink"), func(s sink.Stats) float64 { return float64(s.Dropped) }},
		{gauge("tracker_sink_queued", "Items waiting for a sink.", "stream", "sink"), func(s sink.Stats) float64 { return float64(s.Queued) }},
		{gauge("tracker_sink_failed", "Whether a sink has ended with an error.", "stream", "sink"), func(s sink.Stats) float64 { return flag(s.Failed) }},
	}
	return m
}

// webrtc is all zero where there is no such preview.
func (s *StreamStatus) webrtc() WebRTCStatus {
	if s.WebRTC == nil {
		return WebRTCStatus{}
	}
	return *s.WebRTC
}

// Describe implements prometheus.Collector.
func (m *streamMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, f := range m.streams {
		to <- f.Desc
	}
	for _, f := range m.sinks {
		to <- f.Desc
	}
	to <- m.dropped.Desc
	to <- m.webrtc.Desc
	to <- m.failed.Desc
	to <- m.lost.Desc
	to <- m.latency
}

// Collect implements prometheus.Collector.
func (m *streamMetrics) Collect(to chan<- prometheus.Metric) {
	for _, s := range m.service.Statuses() {
		for _, f := range m.streams {
			to <- f.sample(f.value(&s), s.Name)
		}
		for _, stats := range s.Counters.Sinks {
			for _, f := range m.sinks {
				to <- f.sample(f.value(stats), s.Name, stats.Name)
			}
		}
		for _, d := range s.Counters.Dropped {
			to <- m.dropped.sample(float64(d.Count), s.Name, d.Stage, d.Reason)
		}
		for reason, n := range s.webrtc().Dropped {
			to <- m.webrtc.sample(float64(n), s.Name, reason)
		}
		for reason, n := range s.Counters.Failures {
			to <- m.failed.sample(float64(n), s.Name, reason)
		}
		for reason, n := range s.Counters.Reconnects {
			to <- m.lost.sample(float64(n), s.Name, reason)
		}
		for _, l := range s.Counters.Latency {
			to <- l.Histogram.metric(m.latency, s.Name, l.Stage)
		}
	}
}
