//go:build slow

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// sample is what the service holds at one time.
type sample struct {
	at                                 time.Duration // since the start
	goroutines, resident, files, pools float64
}

func (o *soak) sample(t *testing.T, began time.Time) sample {
	t.Helper()
	s := o.service
	return sample{
		at: time.Since(began), goroutines: s.sum(t, "go_goroutines"), resident: s.sum(t, "process_resident_memory_bytes") / (1 << 20),
		files: s.sum(t, "process_open_fds"), pools: (s.sum(t, "tracker_pool_live_bytes") + s.sum(t, "tracker_pool_idle_bytes")) / (1 << 20),
	}
}

// flat wants that what the service holds does not grow once everything has happened a few times: a line through the samples of the
// last two thirds must not rise by more over its length than one leak at each disturbance would come to.
func (o *soak) flat(t *testing.T) {
	t.Helper()
	settled := o.samples[len(o.samples)/3:]
	var curve []string
	for i, s := range o.samples {
		if i == 0 || s.at.Truncate(time.Minute) != o.samples[i-1].at.Truncate(time.Minute) {
			curve = append(curve, fmt.Sprintf("%.0f", s.resident))
		}
	}
	t.Logf("MiB resident each minute: %s", strings.Join(curve, " "))
	for _, c := range []struct {
		what  string
		of    func(sample) float64
		allow float64 // rise in all
	}{
		{"goroutines", func(s sample) float64 { return s.goroutines }, 5},
		{"MiB resident", func(s sample) float64 { return s.resident }, 16},
		{"MiB in pools", func(s sample) float64 { return s.pools }, 8},
		{"open files", func(s sample) float64 { return s.files }, 5},
	} {
		slope := slopeOf(settled, c.of) * 60
		minutes := (settled[len(settled)-1].at - settled[0].at).Minutes()
		t.Logf("%s: %.1f at first, %.1f at %v, %.1f at the end; fitted %+.4f a minute over the last %.1f minutes", c.what,
			c.of(o.samples[0]), c.of(settled[0]), settled[0].at.Round(time.Second), c.of(settled[len(settled)-1]), slope, minutes)
		if slope*minutes > c.allow {
			t.Errorf("%s rise by %.2f a minute", c.what, slope)
		}
	}
}

// slopeOf is the least-squares slope a second.
func slopeOf(samples []sample, of func(sample) float64) float64 {
	var meanX, meanY float64
	for _, s := range samples {
		meanX += s.at.Seconds() / float64(len(samples))
		meanY += of(s) / float64(len(samples))
	}
	var xy, xx float64
	for _, s := range samples {
		dx := s.at.Seconds() - meanX
		xy += dx * (of(s) - meanY)
		xx += dx * dx
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
