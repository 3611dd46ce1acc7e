//go:build slow

package stream

import (
	"slices"
	"testing"
	"time"
)

func TestHundredThousandFramesTakeFlatMemoryAndTime(t *testing.T) {
	const length = 100_000
	samples, out, source := paradeFor(t, length)
	checkParade(t, length, samples, out, source)
	// The quickest windows, since others may need the processor too.
	quickest := func(all []sample) time.Duration {
		return slices.MinFunc(all, func(a, b sample) int { return int(a.since - b.since) }).since
	}
	early, late := quickest(samples[len(samples)/20:len(samples)/4]), quickest(samples[3*len(samples)/4:])
	t.Logf("%d objects; 100 frames took %v early and %v late; pools hold %d bytes", out.added, early, late, samples[len(samples)-1].pools)
	if late > early*3/2 {
		t.Errorf("100 frames took %v early and %v late", early, late)
	}
}
