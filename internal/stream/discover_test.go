package stream

import (
	"errors"
	"testing"

	"maskstream/control"
	"maskstream/model"
	"maskstream/model/amg"
)

// few are options for a picture with large dots.
const few = `{"points_per_side":12,"stability_score_thresh":0.5}`

func TestDiscoverStartsTracksForNewObjectsOnly(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 40, below: true, hold: hold}, out, func(c *Config) { c.History, c.Prompts = 30, firstBox(7) })
	if _, err := s.Discover(t.Context(), nil); !errors.Is(err, control.ErrUnavailable) {
		t.Errorf("before the first picture: %v", err)
	}
	feed(t, out, hold, 5)
	for range 2 { // the second finds nothing new
		answer, err := s.Discover(t.Context(), []byte(few))
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Objects) != 2 || answer.Past || answer.Frame != 4 || !follows(answer, 7, false) || !follows(answer, 8, true) {
			t.Fatalf("answer %+v", answer)
		}
	}
	feed(t, out, hold, 5)
	for _, f := range out.live() {
		if found := len(f.Objects) == 2; found != (f.Frame >= 5) || found && !follows(f, 8, true) {
			t.Errorf("live frame %d: %+v", f.Frame, f.Objects)
		}
	}
	var bad *control.Error
	for _, options := range []string{`{"points_per_side":0}`, `{"points":3}`} {
		if _, err := s.Discover(t.Context(), []byte(options)); !errors.As(err, &bad) || bad.Code != control.BadRequest {
			t.Errorf("%s: %v", options, err)
		}
	}
}

func TestObjectsOnTheFirstFrameAreFoundByThemselves(t *testing.T) {
	options, err := amg.ParseOptions([]byte(few))
	if err != nil {
		t.Fatal(err)
	}
	out := &gather{}
	start(t, dots{count: 5, below: true}, out, func(c *Config) { c.Auto = &options })
	wait(t, "5 frames", func() bool { return len(out.frames()) == 5 })
	for _, f := range out.frames() {
		if len(f.Objects) != 2 {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	empty := &gather{}
	start(t, dots{count: 3, gone: func(int) bool { return true }}, empty, func(c *Config) { c.Auto = &options })
	wait(t, "3 frames", func() bool { return len(empty.frames()) == 3 })
}

// mute is a network that proposes nothing by itself.
type mute struct{ model.Network }

func TestDiscoverNeedsAModelThatProposes(t *testing.T) {
	out := &gather{}
	hold := make(chan struct{})
	s := start(t, dots{count: 5, hold: hold}, out, func(c *Config) { c.Network = mute{c.Network} })
	feed(t, out, hold, 1)
	if _, err := s.Discover(t.Context(), nil); !errors.Is(err, control.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
}
