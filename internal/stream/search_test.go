package stream

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"maskstream/model/amg"
	"maskstream/model/modeltest"
	"maskstream/rle"
)

func TestASearchSaysHowManyItFound(t *testing.T) {
	options, err := amg.ParseOptions([]byte(few))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source dots
		found  int
		reason string
	}{
		"two objects": {dots{count: 3, below: true}, 2, ""},
		"nothing":     {dots{count: 3, gone: func(int) bool { return true }}, 0, "pred_iou_thresh"},
	} {
		t.Run(name, func(t *testing.T) {
			out, log := &gather{}, &bytes.Buffer{}
			start(t, c.source, out, func(config *Config) {
				config.Auto, config.Log = &options, slog.New(slog.NewTextHandler(log, nil)).With("stream", config.Name)
			})
			wait(t, "3 frames", func() bool { return len(out.frames()) == 3 && out.event(rle.StreamDown) != nil })
			e := out.event(rle.SearchDone)
			if e == nil || e.Found == nil || *e.Found != c.found || !strings.Contains(e.Reason, c.reason) || c.reason == "" && e.Reason != "" {
				t.Errorf("event %+v", e)
			}
			if c.found == 0 && !strings.Contains(log.String(), "pred_iou_thresh") {
				t.Errorf("log %s", log)
			}
			if strings.Count(log.String(), "stream=") != 1 || strings.Contains(log.String(), "nil") || strings.Contains(log.String(), `reason=""`) {
				t.Errorf("log %s", log)
			}
		})
	}
}

func TestASearchTracksAllThatItFoundOrNothing(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	var searching atomic.Bool
	var adopted atomic.Int32
	s := start(t, dots{count: 40, below: true, hold: hold}, out, func(c *Config) {
		c.Network.(*modeltest.Network).Fail = func(verb string) error {
			if verb == "DecodeMasks" && searching.Load() && adopted.Add(1) == 2 {
				return errors.New("broken at /secret")
			}
			return nil
		}
	})
	feed(t, out, hold, 5)
	searching.Store(true)
	if _, err := s.Discover(t.Context(), []byte(few)); err == nil {
		t.Fatal("it ended well")
	}
	searching.Store(false)
	wait(t, "its end", func() bool { return out.event(rle.SearchDone) != nil })
	if e := out.event(rle.SearchDone); *e.Found != 0 || e.Reason != "it failed: the log says more" {
		t.Errorf("event %+v", e)
	}
	feed(t, out, hold, 2)
	for _, f := range out.live() {
		if len(f.Objects) != 0 {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if answer, err := s.Discover(t.Context(), []byte(few)); err != nil || len(answer.Objects) != 2 {
		t.Errorf("a second search: %+v, %v", answer, err)
	}
}

func TestConfiguredPromptsBesideThePictureAreRefused(t *testing.T) {
	out, log := &gather{}, &bytes.Buffer{}
	ids := []int{1, 2, 3, 4, 5}
	prompts := firstBox(0)
	for i := range ids {
		prompts = append(prompts, Prompt{Object: &ids[i]})
	}
	prompts[1].Box = &[4]float32{400, 10, 500, 90}
	prompts[2].Points, prompts[2].Labels = [][2]float32{{10, 181}}, []int{1}
	prompts[3].Points, prompts[3].Labels = [][2]float32{{-1, 10}}, []int{1}
	mask := rle.Empty(90, 160)
	prompts[4].Mask = &mask
	prompts[5].Box = &[4]float32{-20, 50, 74, 94} // it touches the picture
	start(t, dots{count: 3}, out, func(c *Config) { c.Prompts, c.Log = prompts, slog.New(slog.NewTextHandler(log, nil)) })
	wait(t, "3 frames", func() bool { return len(out.frames()) == 3 && out.event(rle.StreamDown) != nil })
	var got []int
	for _, o := range out.frames()[2].Objects {
		got = append(got, o.ID)
	}
	if len(got) != 2 || got[0] != 0 || got[1] != 5 {
		t.Errorf("objects %v", got)
	}
	for _, want := range []string{"box 400,10,500,90 is outside the picture, which is 320×180", "point 10,181 is outside", "point -1,10 is outside", "the mask is 160×90, the picture 320×180"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}
