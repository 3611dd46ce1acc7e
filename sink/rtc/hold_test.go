package rtc

import (
	"testing"
	"time"
)

// steps is a story of pictures (p), masks (m) and time that goes by, and which pictures go when.
func TestPicturesGoAfterTheirMasks(t *testing.T) {
	const tick = 3600
	wrap := ^uint32(0) - 2*tick + 1 // the clock goes round two pictures later
	type step struct {
		at      time.Duration
		picture int // its number, −1 for none
		masks   int // of the picture with the number, −1 for none
		goes    []int
	}
	for name, steps := range map[string][]step{
		"each after its own":            {{0, 0, -1, nil}, {40, 1, -1, nil}, {50, -1, 0, []int{0}}, {90, -1, 1, []int{1}}},
		"those left out go too":         {{0, 0, -1, nil}, {40, 1, -1, nil}, {80, 2, -1, nil}, {90, -1, 2, []int{0, 1, 2}}},
		"masks before the picture":      {{0, -1, 0, nil}, {5, 0, -1, []int{0}}},
		"over the end of the clock":     {{0, 1, -1, nil}, {40, 2, -1, nil}, {80, 3, -1, nil}, {85, -1, 1, []int{1}}, {90, -1, 3, []int{2, 3}}},
		"masks about what has gone":     {{0, 5, -1, nil}, {10, -1, 5, []int{5}}, {40, 6, -1, nil}, {50, -1, 4, nil}, {60, -1, 6, []int{6}}},
		"no masks come":                 {{0, 0, -1, nil}, {600, -1, -1, nil}, {700, -1, -1, []int{0}}},
		"masks that are slow":           {{0, 0, -1, nil}, {650, -1, 0, []int{0}}, {700, 1, -1, nil}, {1900, -1, -1, nil}, {2000, -1, -1, []int{1}}},
		"only those that waited enough": {{0, 0, -1, nil}, {400, 1, -1, nil}, {700, -1, -1, []int{0}}, {1100, -1, -1, []int{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var h hold
			start := time.Now()
			for i, s := range steps {
				now := start.Add(s.at * time.Millisecond)
				var ready []*picture
				switch {
				case s.picture >= 0:
					ready = h.add(&picture{rtp: wrap + uint32(s.picture)*tick, came: now})
				case s.masks >= 0:
					ready = h.masks(wrap+uint32(s.masks)*tick, now)
				default:
					ready = h.overdue(now)
				}
				var goes []int
				for _, p := range ready {
					goes = append(goes, int((p.rtp-wrap)/tick))
				}
				if len(goes) != len(s.goes) {
					t.Fatalf("step %d: pictures %v go, want %v", i, goes, s.goes)
				}
				for k := range goes {
					if goes[k] != s.goes[k] {
						t.Fatalf("step %d: pictures %v go, want %v", i, goes, s.goes)
					}
				}
			}
		})
	}
}

func TestHoldIsBounded(t *testing.T) {
	var h hold
	went := 0
	for i := range 3 * mostHeld {
		went += len(h.add(&picture{rtp: uint32(i), came: time.Now()}))
	}
	if len(h.pictures) != mostHeld || went != 2*mostHeld {
		t.Errorf("%d pictures are held, %d went", len(h.pictures), went)
	}
	h.lag = time.Hour
	if h.limit() != mostHold {
		t.Errorf("a picture may wait for %v", h.limit())
	}
}
