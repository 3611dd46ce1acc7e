package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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
	plain func() error // the same without the saving that is shown, in turn with run; nil for none
	close func()
	work  map[string]any        // objects, size, …: further fields of the line
	after func() map[string]any // fields that are known after the last run; nil for none
	few   bool                  // too slow for many runs
}

const (
	benchWarmUp = 3
	benchRuns   = 101             // most runs of one benchmark
	benchTime   = 3 * time.Second // after which a benchmark ends, with at least benchLeast runs
	benchLeast  = 5
	benchFew    = 3 // in place of benchLeast and the warm-up, for what takes seconds
)

func newBench() *cobra.Command {
	all := benchmarks(benchFull)
	names := make([]string, 0, len(all))
	for _, b := range all {
		if !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
	}
	quick := false
	command := &cobra.Command{
		Use:       "bench [NAME…]",
		Short:     "Measure this machine: one JSON object a benchmark",
		Long:      "Measure this machine: one JSON object a benchmark, with the median of its runs and the process's peak memory. Where plain_ms is given, it is the median of the same work without the saving that the benchmark is about, run in turn with it.\n\nKnown names: " + strings.Join(names, ", ") + ".",
		ValidArgs: names,
		RunE: func(command *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(names, name) {
					return usagef("no benchmark %q; known are %s", name, strings.Join(names, ", "))
				}
			}
			if quick {
				all = benchmarks(benchQuick)
			}
			encoder := json.NewEncoder(command.OutOrStdout())
			for _, b := range all {
				if len(args) > 0 && !slices.Contains(args, b.name) {
					continue
				}
				line, err := b.measure(command.Context(), quick)
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
	command.Flags().BoolVar(&quick, "quick", false, "small sizes and one run each: do they work at all?")
	return command
}

// measure runs one benchmark.
func (b benchmark) measure(ctx context.Context, quick bool) (map[string]any, error) {
	t, err := b.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if t.close != nil {
		defer t.close()
	}
	warmUp, least, most := benchWarmUp, benchLeast, benchRuns
	if t.few {
		warmUp, least = 0, benchFew
	}
	if quick {
		warmUp, least, most = 0, 1, 1
	}
	for range warmUp {
		if err := t.run(); err != nil {
			return nil, err
		}
	}
	resetPeak()
	var times, plain []time.Duration
	for began := time.Now(); len(times) < most && (len(times) < least || time.Since(began) < benchTime); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, one := range []struct {
			run   func() error
			times *[]time.Duration
		}{{t.run, &times}, {t.plain, &plain}} {
			if one.run == nil {
				continue
			}
			started := time.Now()
			if err := one.run(); err != nil {
				return nil, err
			}
			*one.times = append(*one.times, time.Since(started))
		}
	}
	line := map[string]any{"name": b.name, "median_ms": median(times), "runs": len(times), "cuda_peak_mib": nil, "host_peak_mib": peakMiB()}
	if len(plain) > 0 {
		line["plain_ms"] = median(plain)
	}
	maps.Copy(line, t.work)
	if t.after != nil {
		maps.Copy(line, t.after())
	}
	return line, nil
}

// median is in milliseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Microseconds()) / 1e3
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
