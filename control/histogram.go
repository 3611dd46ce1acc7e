package control

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// histogramBounds are seconds: a frame takes milliseconds on a GPU and seconds on a small CPU.
var histogramBounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Histogram counts durations in fixed buckets. The zero value is ready, so that whoever measures needs neither a name nor
// labels, which the collector adds; safe for concurrent use.
type Histogram struct {
	buckets     [len(histogramBounds) + 1]atomic.Uint64
	nanoseconds atomic.Int64
}

// Observe counts one duration in seconds.
func (h *Histogram) Observe(seconds float64) {
	i := 0
	for i < len(histogramBounds) && seconds > histogramBounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanoseconds.Add(int64(seconds * 1e9))
}

// metric is the histogram as it is now, under a name with labels.
func (h *Histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	var total uint64
	atMost := make(map[float64]uint64, len(histogramBounds))
	for i, bound := range histogramBounds {
		total += h.buckets[i].Load()
		atMost[bound] = total
	}
	total += h.buckets[len(histogramBounds)].Load()
	return prometheus.MustNewConstHistogram(desc, total, float64(h.nanoseconds.Load())/1e9, atMost, labels...)
}
