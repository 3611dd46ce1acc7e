package rle

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, c := range counts {
		f.Add(c.height, c.width, c.counts)
	}
	f.Fuzz(func(t *testing.T, height, width int, counts string) {
		mask, err := Parse(height, width, counts)
		if err != nil {
			return
		}
		if err := mask.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := mask.Counts(); got != counts {
			t.Fatalf("%q comes back as %q", counts, got)
		}
		same, err := Merge(Union, mask)
		if err != nil {
			t.Fatal(err)
		}
		box := mask.Box()
		if !Equal(same, mask) || same.Area() != mask.Area() || same.Box() != box {
			t.Fatalf("%v and its canonical form %v differ", mask, same)
		}
		if height*width > 1<<16 {
			return
		}
		bitmap := make([]byte, height*width)
		if err := mask.Decode(bitmap); err != nil {
			t.Fatal(err)
		}
		if back := FromBits(height, width, bitmap); back.Counts() != same.Counts() {
			t.Fatalf("%v decodes to %v", mask, back)
		}
		if int64(bytes.Count(bitmap, []byte{1})) != mask.Area() || boxOf(bitmap, height, width) != box {
			t.Fatalf("%v decodes to another area or box", mask)
		}
	})
}

// FuzzSplit sends a batch of two masks under any limit and reads it as a subscriber does.
func FuzzSplit(f *testing.F) {
	for _, c := range counts {
		for _, limit := range []int{0, 250, 330, 1000} {
			f.Add(c.height, c.width, c.counts, limit)
		}
	}
	odd := backslashes()
	f.Add(odd.Height, odd.Width, odd.Counts(), 400)
	f.Fuzz(func(t *testing.T, height, width int, counts string, limit int) {
		mask, err := Parse(height, width, counts)
		if err != nil || limit < 0 {
			return
		}
		batch := batchOf(mask, mask)
		messages, err := EncodeBatch(batch, limit)
		if err != nil {
			if !errors.Is(err, ErrLimit) || limit > 1000 {
				t.Errorf("under %d: %v", limit, err)
			}
			return
		}
		allowed := limit
		if limit == 0 {
			allowed = math.MaxInt
		}
		if masks := reassemble(t, messages, allowed); !reflect.DeepEqual(masks, batch.Masks) {
			t.Errorf("under %d: %d messages come back as %+v", limit, len(messages), masks)
		}
	})
}
