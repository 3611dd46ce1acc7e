package rle

import (
	"bytes"
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
