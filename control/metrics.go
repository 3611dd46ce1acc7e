package control

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
