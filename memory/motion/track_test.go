package motion

import (
	"math"
	"testing"
)

// walk is a box that moves right by 3 cells a frame.
func walk(frame int) Box {
	at := 3 * float64(frame)
	return Box{at, 20, at + 8, 30}
}

// walked is a track that has seen the box well on frames 0 to before n.
func walked(n int) Track {
	t := Start(walk(0))
	for frame := 1; frame < n; frame++ {
		t, _ = t.Follow(1, []Box{walk(frame)}, []float32{0.9})
	}
	return t
}

func TestMotionHasASayOnceTheTrackIsStable(t *testing.T) {
	away := Box{0, 50, 8, 60}
	for _, c := range []struct {
		name  string
		seen  int
		other float32 // predicted IoU of a mask elsewhere; the object's is 0.8
		want  int
	}{
		{"young: the better mask wins", 14, 0.81, 0},
		{"stable: the mask on the way wins", 15, 0.81, 1},
		{"stable for long", 40, 0.81, 1},
		{"a mask elsewhere that is much better wins all the same", 40, 0.99, 0},
	} {
		track, best := walked(c.seen).Follow(1, []Box{away, walk(c.seen)}, []float32{c.other, 0.8})
		if best != c.want {
			t.Errorf("%s: mask %d was chosen", c.name, best)
		}
		want := [2]float64{0, 1}[best]
		if c.seen < stableFrames {
			want = 1
		}
		if math.Abs(track.Agreement-want) > 0.2 {
			t.Errorf("%s: agreement %.3f, want about %v", c.name, track.Agreement, want)
		}
	}
}

func TestTheWeightsAreAsPublished(t *testing.T) {
	track := walked(30)
	expected := track
	expected.filter.predict(1)
	on := expected.filter.box() // agreement 1
	away := Box{0, 50, 8, 60}   // agreement 0
	for other, want := range map[float32]int{0.8 + 0.15/0.85 - 1e-3: 0, 0.8 + 0.15/0.85 + 1e-3: 1} {
		if _, best := track.Follow(1, []Box{on, away}, []float32{0.8, other}); best != want {
			t.Errorf("predicted IoU 0.8 on the way against %v elsewhere: mask %d was chosen", other, best)
		}
	}
}

func TestAPoorMaskEndsTheTrack(t *testing.T) {
	track, _ := walked(30).Follow(1, []Box{walk(30)}, []float32{0.3})
	if track.seen != 0 {
		t.Errorf("seen %d frames in a row", track.seen)
	}
	track, _ = track.Follow(1, []Box{{40, 40, 50, 50}}, []float32{0.9})
	if got := track.filter.box(); track.seen != 1 || got != (Box{40, 40, 50, 50}) {
		t.Errorf("the next track begins after %d frames at %v", track.seen, got)
	}
}

func TestAnUnseenObjectMovesOn(t *testing.T) {
	track := walked(30)
	for frame := 30; frame < 40; frame++ {
		track, _ = track.Follow(1, []Box{{}, {}, {}}, []float32{0.1, 0.9, 0.2})
	}
	// Where it comes out, something like it stands where it went in.
	track, best := track.Follow(1, []Box{walk(30), walk(40)}, []float32{0.85, 0.8})
	if best != 1 || track.unseen != 0 {
		t.Errorf("mask %d was chosen", best)
	}
	for range stableFrames {
		track, _ = track.Follow(1, []Box{{}}, []float32{0})
	}
	if track.seen != 0 {
		t.Error("an object that was unseen for as long as it takes to be known is not forgotten")
	}
	if track, _ = track.Follow(1, []Box{{}}, []float32{0.9}); track != (Track{Agreement: 1}) {
		t.Errorf("an empty mask begins a track: %+v", track)
	}
}

func TestATrackGoesOnBackInTime(t *testing.T) {
	track := walked(31) // frames 0 to 30
	was := track
	for frame := 29; frame >= 0; frame-- {
		// The look-alike stands where the object would be if it went on forwards.
		var best int
		if track, best = track.Follow(-1, []Box{walk(60 - frame), walk(frame)}, []float32{0.82, 0.8}); best != 1 {
			t.Fatalf("frame %d: the wrong mask was chosen", frame)
		}
	}
	if was != walked(31) {
		t.Error("following a copy has changed the track it was copied from")
	}
}

func TestBoxOfAMap(t *testing.T) {
	m := make([]float32, 6*4)
	if got := BoxOf(m, 6); !got.Empty() {
		t.Errorf("nothing is in %v", got)
	}
	m[1*6+2], m[3*6+4], m[0] = 1, 0.5, -1
	if got := BoxOf(m, 6); got != (Box{2, 1, 5, 4}) {
		t.Errorf("got %v", got)
	}
	for _, c := range []struct {
		a, b Box
		want float64
	}{
		{Box{0, 0, 2, 2}, Box{0, 0, 2, 2}, 1},
		{Box{0, 0, 2, 2}, Box{1, 0, 3, 2}, 1.0 / 3},
		{Box{0, 0, 2, 2}, Box{2, 0, 3, 2}, 0},
		{Box{0, 0, 2, 2}, Box{}, 0},
		{Box{}, Box{}, 0},
		{Box{0, 0, 2, 2}, Box{2, 2, 0, 0}, 0}, // a box turned inside out is empty
	} {
		if got := c.a.IoU(c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
