package rle

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func partOf(seq int64, index, of int, counts string) Batch {
	return Batch{V: 1, Stream: "gate", Run: "9f3a01c2", Object: 1, Size: [2]int{2, 3}, Part: &[2]int{index, of},
		Masks: []BatchMask{{Seq: seq, Direction: Forward, State: Tracked, CountsPart: &counts}}}
}

// badParts is the table that the fuzz test shares.
func badParts() map[string]Batch {
	change := func(change func(*Batch)) Batch {
		batch := partOf(1, 0, 2, "22")
		change(&batch)
		return batch
	}
	return map[string]Batch{
		"a part beyond the last": partOf(1, 2, 2, "22"),
		"a negative part":        partOf(1, -1, 2, "22"),
		"no parts":               partOf(1, 0, 0, "22"),
		"no part":                change(func(b *Batch) { b.Part = nil }),
		"no mask":                change(func(b *Batch) { b.Masks = nil }),
		"two masks":              change(func(b *Batch) { b.Masks = append(b.Masks, b.Masks[0]) }),
		"whole counts":           change(func(b *Batch) { b.Masks[0].Counts, b.Masks[0].CountsPart = b.Masks[0].CountsPart, nil }),
		"both":                   change(func(b *Batch) { b.Masks[0].Counts = b.Masks[0].CountsPart }),
		"no counts":              change(func(b *Batch) { b.Masks[0].CountsPart = nil }),
	}
}

func TestWhatIsNoPartIsRefused(t *testing.T) {
	for name, batch := range badParts() {
		t.Run(name, func(t *testing.T) {
			var assembler Assembler
			if _, whole, err := assembler.Add(batch); whole || !errors.Is(err, ErrPart) {
				t.Errorf("whole %v, error %v", whole, err)
			}
			if len(assembler.waiting) != 0 {
				t.Error("it was kept")
			}
		})
	}
}

func TestAPartThatContradictsAnEarlierOneIsRefused(t *testing.T) {
	var assembler Assembler
	for _, part := range []Batch{partOf(1, 0, 2, "22"), partOf(1, 0, 2, "22")} {
		if _, whole, err := assembler.Add(part); whole || err != nil {
			t.Errorf("whole %v, error %v", whole, err)
		}
	}
	if _, _, err := assembler.Add(partOf(1, 0, 2, "33")); !errors.Is(err, ErrPart) {
		t.Errorf("error %v", err)
	}
	batch, whole, err := assembler.Add(partOf(1, 1, 2, "1O"))
	if err != nil || !whole || *batch.Masks[0].Counts != "221O" {
		t.Errorf("whole %v, error %v, masks %v", whole, err, batch.Masks)
	}
}

func TestAMaskWithoutPartsPassesThrough(t *testing.T) {
	batch := batchOf(Empty(2, 3), Empty(2, 3))
	var assembler Assembler
	got, whole, err := assembler.Add(batch)
	if err != nil || !whole || len(got.Masks) != 2 {
		t.Errorf("whole %v, error %v, %d masks", whole, err, len(got.Masks))
	}
}

func TestWhatWaitsForPartsIsBounded(t *testing.T) {
	assembler := Assembler{Masks: 3, Bytes: 2000}
	for seq := range int64(10) {
		if _, _, err := assembler.Add(partOf(seq, 0, math.MaxInt, "22")); err != nil {
			t.Fatal(err)
		}
	}
	if got := assembler.GivenUp(); got != 7 || len(assembler.waiting) != 3 {
		t.Errorf("%d given up and %d waiting, want 7 and 3", got, len(assembler.waiting))
	}
	if _, whole, err := assembler.Add(partOf(20, 0, 2, strings.Repeat("1", 1900))); whole || err != nil {
		t.Errorf("whole %v, error %v", whole, err)
	}
	if got := assembler.GivenUp(); got != 10 || len(assembler.waiting) != 1 {
		t.Errorf("%d given up and %d waiting, want 10 and 1: the newest is kept", got, len(assembler.waiting))
	}
	for i := range 100 {
		if _, _, err := assembler.Add(partOf(21, i, math.MaxInt, "")); err != nil {
			t.Fatal(err)
		}
	}
	if assembler.bytes > 2000 {
		t.Errorf("%d bytes wait", assembler.bytes)
	}
	if _, _, err := assembler.Add(partOf(22, 0, 2, strings.Repeat("1", 5000))); err != nil {
		t.Fatal(err)
	}
	if assembler.bytes != 0 || len(assembler.waiting) != 0 {
		t.Errorf("%d bytes wait though one part alone is too much", assembler.bytes)
	}
}

func FuzzAssembler(f *testing.F) {
	add := func(batches ...Batch) {
		var lines []byte
		for _, batch := range batches {
			data, err := json.Marshal(batch)
			if err != nil {
				f.Fatal(err)
			}
			lines = append(append(lines, data...), '\n')
		}
		f.Add(lines)
	}
	add(partOf(1, 0, 2, "22"), partOf(1, 1, 2, "1O"))
	add(partOf(1, 1, 2, "1O"), partOf(2, 0, 1, "6"), partOf(1, 0, 2, "22"))
	add(partOf(1, 0, math.MaxInt, "22"), partOf(1, 0, math.MaxInt, "23"))
	for _, batch := range badParts() {
		add(partOf(1, 1, 2, "1O"), batch)
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		assembler := Assembler{Masks: 3, Bytes: 4096}
		for line := range strings.Lines(string(lines)) {
			var batch Batch
			if json.Unmarshal([]byte(line), &batch) != nil {
				continue
			}
			got, whole, err := assembler.Add(batch)
			if err != nil && (whole || !errors.Is(err, ErrPart)) {
				t.Fatalf("whole %v, error %v", whole, err)
			}
			if whole && batch.Part != nil && (len(got.Masks) != 1 || got.Masks[0].Counts == nil || got.Part != nil) {
				t.Fatalf("joined to %+v", got)
			}
			waiting := 0
			for _, set := range assembler.waiting {
				waiting += set.bytes
			}
			if waiting != assembler.bytes || waiting > 4096 || len(assembler.waiting) > 3 {
				t.Fatalf("%d masks with %d bytes wait, and it counts %d", len(assembler.waiting), waiting, assembler.bytes)
			}
		}
	})
}

func TestPartsOfDifferentMasksDoNotJoin(t *testing.T) {
	for name, change := range map[string]func(*Batch){
		"stream":          func(b *Batch) { b.Stream = "yard" },
		"run":             func(b *Batch) { b.Run = "00000000" },
		"epoch":           func(b *Batch) { b.Epoch++ },
		"object":          func(b *Batch) { b.Object++ },
		"size":            func(b *Batch) { b.Size = [2]int{3, 2} },
		"number of parts": func(b *Batch) { b.Part[1]++ },
		"seq":             func(b *Batch) { b.Masks[0].Seq++ },
		"frame":           func(b *Batch) { b.Masks[0].Frame++ },
		"direction":       func(b *Batch) { b.Masks[0].Direction = Reverse },
	} {
		t.Run(name, func(t *testing.T) {
			var assembler Assembler
			other := partOf(1, 1, 2, "1O")
			change(&other)
			for _, part := range []Batch{partOf(1, 0, 2, "22"), other} {
				if _, whole, err := assembler.Add(part); whole || err != nil {
					t.Errorf("whole %v, error %v", whole, err)
				}
			}
		})
	}
}
