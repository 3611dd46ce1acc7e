package stream

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model"
	"maskstream/model/amg"
	"maskstream/model/modeltest"
	"maskstream/tensor"
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

func TestLiveTrackGoesOnDuringASearch(t *testing.T) {
	for name, history := range map[string]int{"with a history": 1000, "without": 0} {
		t.Run(name, func(t *testing.T) {
			out := &gather{}
			searching := make(chan struct{}, 100)
			s := start(t, dots{count: 90, below: true}, out, func(c *Config) {
				c.History, c.Prompts = history, firstBox(7)
				c.Network.(*modeltest.Network).Fail = func(verb string) error {
					switch verb {
					case "DecodeCandidates":
						searching <- struct{}{}
						time.Sleep(20 * time.Millisecond)
					case "EncodeImage":
						time.Sleep(3 * time.Millisecond)
					}
					return nil
				}
			})
			wait(t, "some frames", func() bool { return len(out.live()) > 10 })
			second := make(chan error, 1)
			go func() {
				<-searching
				_, err := s.Discover(context.Background(), []byte(few))
				second <- err
			}()
			// Ten batches: about as many frames come while it searches as its time is long.
			answer, err := s.Discover(t.Context(), []byte(`{"points_per_side":10,"points_per_batch":10,"stability_score_thresh":0.5}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := <-second; !errors.Is(err, control.ErrBusy) {
				t.Errorf("a second search: %v", err)
			}
			// Without a history the other object's mask on that frame is gone, and what was found goes on from the newest frame.
			if history > 0 && len(answer.Objects) != 2 || !answer.Past || !follows(answer, 8, true) {
				t.Errorf("answer about frame %d, past %v: %+v", answer.Frame, answer.Past, answer.Objects)
			}
			wait(t, "end", func() bool { return s.Status().State == control.Ended })
			if got := numbers(out.live()); !slices.Equal(got, span(0, 89)) {
				t.Errorf("live frames %v", got)
			}
			seen, during := []int{}, 0
			for _, f := range out.frames() {
				if follows(f, 8, true) {
					seen = append(seen, f.Frame)
				}
				if f.Seq < answer.Seq && f.Frame > answer.Frame {
					during++
				}
			}
			if want := span(answer.Frame, 89); history > 0 && !slices.Equal(seen, want) {
				t.Errorf("the new object is seen on %v", seen)
			}
			if during < 10 {
				t.Errorf("%d frames were tracked during the search", during)
			}
		})
	}
}

func TestFailingFrameDuringASearchEndsTheStream(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	network := modeltest.New(pool, side)
	var searching atomic.Bool
	network.Fail = func(verb string) error {
		if verb == "DecodeCandidates" {
			searching.Store(true)
			time.Sleep(5 * time.Millisecond)
		}
		if verb == "AttendMemory" && searching.Load() {
			return errors.New("the network is broken")
		}
		return nil
	}
	out := &gather{}
	s := New(Config{Name: "gate", Run: "0123abcd", Source: dots{count: 1000}, Out: out, Network: network, Converter: frames.NewConverter(side, pool),
		Prompts: firstBox(1), Log: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	wait(t, "a frame", func() bool { return len(out.live()) > 0 })
	if _, err := s.Discover(t.Context(), []byte(`{"points_per_side":10,"points_per_batch":4}`)); err == nil {
		t.Error("the search ended well")
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the network is broken") {
		t.Errorf("the stream ended with %v", err)
	}
	tensor.NoLeaks(t, pool)
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
