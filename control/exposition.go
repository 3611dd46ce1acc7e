package control

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// Exposition is one answer in Prometheus' text format (version 0.0.4) while it is written: a Family, then its samples.
type Exposition struct {
	text strings.Builder
	name string
}

// Collector adds families of metrics. It is called for every scrape, from any goroutine.
type Collector func(*Exposition)

// Kind is a family's type.
type Kind string

const (
	Counter Kind = "counter"
	Gauge   Kind = "gauge"
)

// Label is one dimension of a sample. Labels never hold URLs or object ids: their number has to stay small.
type Label struct{ Name, Value string }

// Family begins a metric.
func (e *Exposition) Family(name string, kind Kind, help string) { e.family(name, string(kind), help) }

func (e *Exposition) family(name, kind, help string) {
	e.name = name
	fmt.Fprintf(&e.text, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help), name, kind)
}

// Sample adds one value of the family.
func (e *Exposition) Sample(value float64, labels ...Label) { e.sample("", value, labels) }

// Histogram adds one histogram; the family's kind has to be "histogram".
func (e *Exposition) histogram(h *Histogram, labels []Label) {
	var total int64
	for i, bound := range histogramBounds {
		total += h.buckets[i].Load()
		e.sample("_bucket", float64(total), append(labels[:len(labels):len(labels)], Label{"le", number(bound)}))
	}
	total += h.buckets[len(histogramBounds)].Load()
	e.sample("_bucket", float64(total), append(labels[:len(labels):len(labels)], Label{"le", "+Inf"}))
	e.sample("_sum", float64(h.nanoseconds.Load())/1e9, labels)
	e.sample("_count", float64(total), labels)
}

func (e *Exposition) sample(suffix string, value float64, labels []Label) {
	e.text.WriteString(e.name + suffix)
	for i, l := range labels {
		e.text.WriteByte("{,"[min(i, 1)])
		e.text.WriteString(l.Name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(l.Value) + `"`)
	}
	if len(labels) > 0 {
		e.text.WriteByte('}')
	}
	e.text.WriteString(" " + number(value) + "\n")
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// histogramBounds are seconds: a frame takes milliseconds on a GPU and seconds on a small CPU.
var histogramBounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Histogram counts durations in fixed buckets. The zero value is ready; safe for concurrent use.
type Histogram struct {
	buckets     [len(histogramBounds) + 1]atomic.Int64
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
