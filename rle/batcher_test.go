package rle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// frameOf is frame number seq with an empty mask for each object.
func frameOf(seq int, objects ...int) *Frame {
	frame := &Frame{V: 1, Stream: "gate", Run: "9f3a01c2", Seq: int64(seq), Frame: seq, PTS: int64(seq) * 40e6, Received: received, Size: [2]int{2, 3}, Direction: Forward}
	for _, id := range objects {
		frame.Objects = append(frame.Objects, Object{ID: id, State: Occluded, Segmentation: Empty(2, 3).COCO()})
	}
	return frame
}

// brief writes batches as object:seq,seq.
func brief(batches []Batch) string {
	var all []string
	for _, batch := range batches {
		var seqs []string
		for _, mask := range batch.Masks {
			seqs = append(seqs, fmt.Sprint(mask.Seq))
		}
		all = append(all, fmt.Sprintf("%d:%s", batch.Object, strings.Join(seqs, ",")))
	}
	return strings.Join(all, " ")
}

func TestABatchEnds(t *testing.T) {
	const second = time.Second
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * second) }
	in := func(frame *Frame, change func(*Frame)) *Frame { change(frame); return frame }
	wide := func(frame *Frame) *Frame {
		frame.Objects[0].Segmentation.Counts = strings.Repeat("1", 500)
		return frame
	}
	for _, c := range []struct {
		name   string
		limits Limits
		frames []*Frame
		ended  []string // by each frame, then by the flush
	}{
		{"with each frame, by default", Limits{}, []*Frame{frameOf(0, 1, 2), frameOf(1), frameOf(2, 2)}, []string{"1:0 2:0", "", "2:2", ""}},
		{"with each frame, by a count of 1", Limits{Count: 1, Age: second}, []*Frame{frameOf(0, 7), frameOf(1, 7)}, []string{"7:0", "7:1", ""}},
		{"at a count, for each object by itself", Limits{Count: 2}, []*Frame{frameOf(0, 1), frameOf(1, 1, 2), frameOf(2, 2, 1), frameOf(3, 3)}, []string{"", "1:0,1", "2:1,2", "", "1:2 3:3"}},
		{"before too many bytes", Limits{Count: 9, Bytes: 700}, []*Frame{wide(frameOf(0, 1, 2)), wide(frameOf(1, 1)), frameOf(2, 2)}, []string{"", "1:0", "", "2:0,2 1:1"}},
		{"with one mask that is too many bytes by itself", Limits{Count: 9, Bytes: 300}, []*Frame{frameOf(0, 1), wide(frameOf(1, 1)), frameOf(2, 1)}, []string{"", "1:0 1:1", "", "1:2"}},
		{"at an age", Limits{Count: 9, Age: 2 * second}, []*Frame{frameOf(0, 1), frameOf(1, 1, 2), frameOf(2, 1, 2), frameOf(3, 1)}, []string{"", "", "1:0,1,2", "2:1,2", "1:3"}},
		{"with its epoch", Limits{Count: 9}, []*Frame{frameOf(0, 1, 2), in(frameOf(1, 1), func(f *Frame) { f.Epoch = 1 })}, []string{"", "1:0 2:0", "1:1"}},
		{"with an epoch that begins without objects", Limits{Count: 9}, []*Frame{frameOf(0, 1), in(frameOf(1), func(f *Frame) { f.Epoch = 1 })}, []string{"", "1:0", ""}},
		{"where the size changes", Limits{Count: 9}, []*Frame{frameOf(0, 1), in(frameOf(1, 1), func(f *Frame) { f.Size = [2]int{3, 2} })}, []string{"", "1:0", "1:1"}},
		{"where the run changes", Limits{Count: 9}, []*Frame{frameOf(0, 1), in(frameOf(1, 1), func(f *Frame) { f.Run = "00000000" })}, []string{"", "1:0", "1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			batcher := NewBatcher(c.limits)
			for i, frame := range c.frames {
				if got := brief(batcher.Add(frame, at(i))); got != c.ended[i] {
					t.Errorf("frame %d ends %q, want %q", i, got, c.ended[i])
				}
			}
			if got, want := brief(batcher.Flush()), c.ended[len(c.frames)]; got != want {
				t.Errorf("the flush ends %q, want %q", got, want)
			}
			if got := batcher.Flush(); len(got) != 0 {
				t.Errorf("a second flush ends %q", brief(got))
			}
		})
	}
}

func TestABatcherSaysWhenToAskAgain(t *testing.T) {
	start := time.Unix(1000, 0)
	batcher := NewBatcher(Limits{Count: 100, Age: time.Second})
	if _, waits := batcher.NextDue(); waits {
		t.Error("something waits in an empty batcher")
	}
	batcher.Add(frameOf(0, 1), start)
	batcher.Add(frameOf(1, 1, 2), start.Add(300*time.Millisecond))
	due, waits := batcher.NextDue()
	if !waits || !due.Equal(start.Add(time.Second)) {
		t.Errorf("due %v, %v", due, waits)
	}
	if got := brief(batcher.Due(due.Add(-1))); got != "" {
		t.Errorf("%q ends too early", got)
	}
	if got := brief(batcher.Due(due)); got != "1:0,1" {
		t.Errorf("due is %q", got)
	}
	if due, _ = batcher.NextDue(); !due.Equal(start.Add(1300 * time.Millisecond)) {
		t.Errorf("due next %v", due)
	}
	if got := brief(batcher.End(2)); got != "2:1" {
		t.Errorf("the removed object ends %q", got)
	}
	if got := batcher.End(2); got != nil {
		t.Errorf("it ends again: %q", brief(got))
	}
	ageless := NewBatcher(Limits{Count: 2})
	ageless.Add(frameOf(0, 1), start)
	if _, waits := ageless.NextDue(); waits {
		t.Error("a batch without an age waits for it")
	}
}

func TestABatchCarriesWhatTheFrameSays(t *testing.T) {
	frame := exampleFrame()
	batches := new(Batcher).Add(frame, received)
	if len(batches) != 1 {
		t.Fatalf("%d batches", len(batches))
	}
	frame.Objects[0].Segmentation.Counts = "changed"
	batch, mask := batches[0], batches[0].Masks[0]
	if batch.V != 1 || batch.Stream != "clip" || batch.Run != "9f3a01c2" || batch.Object != 1 || batch.Size != [2]int{2, 3} || batch.Part != nil {
		t.Errorf("batch %+v", batch)
	}
	if mask.Seq != 12 || mask.Frame != 12 || mask.PTS != 400000000 || mask.Direction != Forward || mask.State != Tracked ||
		*mask.Counts != "221O" || mask.CountsPart != nil || mask.Area != 3 || !slices.Equal(mask.BBox[:], []int{1, 0, 2, 2}) || *mask.ObjectScore != 4.2 {
		t.Errorf("mask %+v with counts %q", mask, *mask.Counts)
	}
}
