//go:build slow

package main

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"maskstream/control"
	"maskstream/internal/stream"
	"maskstream/rle"
)

// TestThousandsOfFramesOfTheBuiltInModelTakeFlatMemory is the real network, whose engine has memory of its own, with objects that
// come and go, prompts in the past and reverse passes.
func TestThousandsOfFramesOfTheBuiltInModelTakeFlatMemory(t *testing.T) {
	const length = 3000
	pools, scene, out := homesFor(t, false, true), newHeldScene(t), &taken{}
	four := 4
	s := nanoStream(t, pools, scene, out, func(c *stream.Config) {
		c.History = 60
		c.Tracking.MaxConditioning = &four
	})
	type sample struct{ resident, pools int64 }
	var samples []sample
	ids := map[int]int{} // of the scene's objects
	var given []int
	for i := range length {
		scene.next <- struct{}{}
		eventually(t, "frame", func() bool { return out.count(forward) > i })
		object := 1 + i/40%3
		id, tracked := ids[object]
		ref, frame := control.Latest, i
		switch i % 40 {
		case 5, 15: // a new one, or a correction; every third in the past
			if i/40%3 == 2 {
				ref, frame = control.FrameRef(i-10), i-10
			}
			box := scene.box(object, frame)
			if frame < 0 || *box == [4]float64{} {
				continue
			}
			request := control.PromptRequest{Frame: ref, Box: box, ClearOldPoints: true}
			if tracked {
				request.Object = &id
			}
			answer, err := s.Prompt(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if !tracked {
				ids[object] = answer.Objects[len(answer.Objects)-1].ID
				given = append(given, ids[object])
			}
		case 30:
			if gone := 1 + (i/40+1)%3; ids[gone] > 0 {
				if err := s.Remove(t.Context(), ids[gone]); err != nil {
					t.Fatal(err)
				}
				delete(ids, gone)
			}
		case 35:
			if err := s.Reverse(t.Context(), control.ReverseRequest{Frames: 20}); err != nil && !errors.Is(err, control.ErrBusy) {
				t.Logf("frame %d: %v", i, err)
			}
		}
		if i%50 == 49 {
			runtime.GC()
			now := sample{resident: residentBytes(t)}
			for _, p := range pools.all() {
				stats := p.Stats()
				now.pools += stats.LiveBytes + stats.IdleBytes
			}
			samples = append(samples, now)
			out.forget()
		}
	}
	if !slices.IsSorted(given) || len(slices.Compact(slices.Clone(given))) != len(given) || len(given) < length/100 {
		t.Errorf("ids %v", given)
	}
	most := func(all []sample, of func(sample) int64) (n int64) {
		for _, s := range all {
			n = max(n, of(s))
		}
		return n
	}
	half, end := samples[len(samples)/4:len(samples)/2], samples[3*len(samples)/4:]
	for name, of := range map[string]func(sample) int64{"the process": func(s sample) int64 { return s.resident }, "pools": func(s sample) int64 { return s.pools }} {
		before, after := most(half, of), most(end, of)
		t.Logf("%s: %d MiB in the second quarter, %d MiB in the last", name, before>>20, after>>20)
		if after > before+before/20+8<<20 {
			t.Errorf("%s grew from %d to %d bytes", name, before, after)
		}
	}
}

// forget drops the results but for a count, which is what a test of memory needs.
func (t *taken) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range t.frames {
		t.frames[i] = &rle.Frame{Direction: f.Direction, Past: f.Past}
	}
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
