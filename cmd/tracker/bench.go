package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// benchmark is one line of tracker bench. prepare does what is not measured and returns one run, what the work was, and how to
// clean up.
type benchmark struct {
	name    string
	prepare func(ctx context.Context) (trial, error)
}

type trial struct {
	run   func() error
	close func()
	work  map[string]any // objects, size, …: further fields of the line
}

const (
	benchWarmUp = 3
	benchRuns   = 101             // most runs of one benchmark
	benchTime   = 3 * time.Second // after which a benchmark ends, with at least benchLeast runs
	benchLeast  = 5
)

func newBench() *cobra.Command {
	all := benchmarks()
	names := make([]string, 0, len(all))
	for _, b := range all {
		if !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
	}
	return &cobra.Command{
		Use:       "bench [NAME…]",
		Short:     "Measure this machine: one JSON object a benchmark",
		Long:      "Measure this machine: one JSON object a benchmark, with the median of its runs and the process's peak memory.\n\nKnown names: " + strings.Join(names, ", ") + ".",
		ValidArgs: names,
		RunE: func(command *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(names, name) {
					return usagef("no benchmark %q; known are %s", name, strings.Join(names, ", "))
				}
			}
			encoder := json.NewEncoder(command.OutOrStdout())
			for _, b := range all {
				if len(args) > 0 && !slices.Contains(args, b.name) {
					continue
				}
				line, err := b.measure(command.Context())
				if err != nil {
					return fmt.Errorf("benchmark %s: %w", b.name, err)
				}
				if err := encoder.Encode(line); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// measure runs one benchmark.
func (b benchmark) measure(ctx context.Context) (map[string]any, error) {
	t, err := b.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if t.close != nil {
		defer t.close()
	}
	for range benchWarmUp {
		if err := t.run(); err != nil {
			return nil, err
		}
	}
	resetPeak()
	var times []time.Duration
	for began := time.Now(); len(times) < benchRuns && (len(times) < benchLeast || time.Since(began) < benchTime); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		started := time.Now()
		if err := t.run(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(started))
	}
	slices.Sort(times)
	line := map[string]any{"name": b.name, "median_ms": float64(times[len(times)/2].Microseconds()) / 1e3, "runs": len(times), "cuda_peak_mib": nil, "host_peak_mib": peakMiB()}
	for k, v := range t.work {
		line[k] = v
	}
	return line, nil
}

// resetPeak makes the kernel count the peak from here; where it refuses, the peak is the process's.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMiB is the largest resident size since resetPeak, nil where the system does not say.
func peakMiB() any {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	_, after, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		return nil
	}
	fields := strings.Fields(string(after))
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		return nil
	}
	return kib / 1024
}
