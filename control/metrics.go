package control

import (
	"bytes"
	"net/http"
	"os"
	"runtime"
	"strconv"

	"maskstream/sink"
)

// metrics serves the streams' counters, the process's, and those of the collectors.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var e Exposition
	streamMetrics(&e, s.service.Statuses())
	processMetrics(&e)
	for _, collect := range s.options.Collectors {
		collect(&e)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(e.text.String())) // the scraper may have gone
}

// streamMetrics goes family by family, as the format wants.
func streamMetrics(e *Exposition, streams []StreamStatus) {
	each := func(name string, kind Kind, help string, value func(*StreamStatus) float64) {
		e.Family(name, kind, help)
		for i := range streams {
			e.Sample(value(&streams[i]), Label{"stream", streams[i].Name})
		}
	}
	each("tracker_source_up", Gauge, "Whether frames come.", func(s *StreamStatus) float64 { return flag(s.State == Up) })
	each("tracker_source_reconnects_total", Counter, "Times the source was lost and opened again.",
		func(s *StreamStatus) float64 { return float64(s.Counters.Reconnects) })
	each("tracker_source_frames_decoded_total", Counter, "Pictures decoded.", func(s *StreamStatus) float64 { return float64(s.Counters.Decoded) })
	each("tracker_source_decode_errors_total", Counter, "Errors of the decoder.", func(s *StreamStatus) float64 { return float64(s.Counters.DecodeErrors) })
	each("tracker_source_timestamp_jumps_total", Counter, "Backward jumps of time.", func(s *StreamStatus) float64 { return float64(s.Counters.TimestampJumps) })
	each("tracker_source_last_frame_timestamp_seconds", Gauge, "When the last frame came, 0 before the first.", func(s *StreamStatus) float64 {
		if s.Counters.LastFrame.IsZero() {
			return 0
		}
		return float64(s.Counters.LastFrame.UnixMilli()) / 1e3
	})
	each("tracker_objects", Gauge, "Objects tracked.", func(s *StreamStatus) float64 { return float64(len(s.Objects)) })
	each("tracker_preview_viewers", Gauge, "Viewers of the MJPEG preview.", func(s *StreamStatus) float64 { return float64(s.Viewers) })
	each("tracker_masks_encoded_bytes_total", Counter, "Bytes of run-length masks.", func(s *StreamStatus) float64 { return float64(s.Counters.MaskBytes) })

	e.Family("tracker_source_frames_dropped_total", Counter, "Frames left out, by place and reason.")
	for _, s := range streams {
		for _, d := range s.Counters.Dropped {
			e.Sample(float64(d.Count), Label{"stream", s.Name}, Label{"stage", d.Stage}, Label{"reason", d.Reason})
		}
	}
	sinkMetrics(e, streams)
	e.family("tracker_frame_latency_seconds", "histogram", "How long one frame takes, by stage.")
	for _, s := range streams {
		for _, l := range s.Counters.Latency {
			e.histogram(l.Histogram, []Label{{"stream", s.Name}, {"stage", l.Stage}})
		}
	}
}

func sinkMetrics(e *Exposition, streams []StreamStatus) {
	for _, family := range []struct {
		name, help string
		kind       Kind
		value      func(sink.Stats) float64
	}{
		{"tracker_sink_written_total", "Items given to a sink.", Counter, func(s sink.Stats) float64 { return float64(s.Written) }},
		{"tracker_sink_dropped_total", "Items a sink's queue dropped.", Counter, func(s sink.Stats) float64 { return float64(s.Dropped) }},
		{"tracker_sink_queued", "Items waiting for a sink.", Gauge, func(s sink.Stats) float64 { return float64(s.Queued) }},
		{"tracker_sink_failed", "Whether a sink has ended with an error.", Gauge, func(s sink.Stats) float64 { return flag(s.Failed) }},
	} {
		e.Family(family.name, family.kind, family.help)
		for _, stream := range streams {
			for _, stats := range stream.Counters.Sinks {
				e.Sample(family.value(stats), Label{"stream", stream.Name}, Label{"sink", stats.Name})
			}
		}
	}
}

// NATSMetrics collects what a connection did.
func NATSMetrics(connection *sink.Connection) Collector {
	return func(e *Exposition) {
		s := connection.Stats()
		e.Family("tracker_nats_connected", Gauge, "Whether the NATS server is reached.")
		e.Sample(flag(s.Connected))
		e.Family("tracker_nats_publish_total", Counter, "Messages, by what became of them.")
		e.Sample(float64(s.Published), Label{"result", "ok"})
		e.Sample(float64(s.Down), Label{"result", "disconnected"})
		e.Sample(float64(s.TooLarge), Label{"result", "too_large"})
		e.Sample(float64(s.Failed), Label{"result", "error"})
		e.Family("tracker_nats_publish_bytes_total", Counter, "Bytes of headers and data.")
		e.Sample(float64(s.Bytes))
		e.Family("tracker_nats_reconnects_total", Counter, "Times the connection came back.")
		e.Sample(float64(s.Reconnects))
		e.Family("tracker_nats_buffered_bytes", Gauge, "Bytes not yet written to the socket.")
		e.Sample(float64(s.Buffered))
	}
}

// BuildMetrics says which program this is.
func BuildMetrics(version string) Collector {
	return func(e *Exposition) {
		e.Family("tracker_build_info", Gauge, "The program's version.")
		e.Sample(1, Label{"version", version}, Label{"go_version", runtime.Version()})
	}
}

// processMetrics uses the names of Prometheus' own client libraries, which dashboards know.
func processMetrics(e *Exposition) {
	e.Family("go_goroutines", Gauge, "Goroutines.")
	e.Sample(float64(runtime.NumGoroutine()))
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	e.Family("go_memstats_heap_inuse_bytes", Gauge, "Bytes of Go's heap in use.")
	e.Sample(float64(memory.HeapInuse))
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				e.Family("process_resident_memory_bytes", Gauge, "Resident memory.")
				e.Sample(float64(pages * int64(os.Getpagesize())))
			}
		}
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
