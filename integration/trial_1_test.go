package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"maskstream/ingest/cameratest"
	"maskstream/rle"
)

// TestTrial1CameraDownKilledBack starts the service before its camera, kills the camera, and brings it back.
func TestTrial1CameraDownKilledBack(t *testing.T) {
	for name, start := range cameras {
		t.Run(name, func(t *testing.T) {
			camera := cameratest.Options{Address: cameratest.FreeAddress(t)}
			s := serve(t, "-c", configure(t, fmt.Sprintf("  - {name: gate, url: '%s'}\n  - {name: other, url: 'testscene:?size=160x90'}", camera.URL())))
			bus := listen(t, s)
			began := time.Now()

			until(t, "word that the camera is down", func() bool { r, _ := s.readiness(t); return r.Streams["gate"].State == "down" })
			r, status := s.readiness(t)
			if status != 503 || !slices.Contains(r.Down, "gate") || r.Streams["gate"].Code != "connection_failed" || !strings.Contains(r.Streams["gate"].Error, camera.URL()) {
				t.Errorf("/readyz: %d %+v", status, r)
			}
			until(t, "picture of the other", func() bool { frames, _ := bus.frames(t, "other"); return len(frames) > 0 })

			time.Sleep(max(0, 3*time.Second-time.Since(began))) // not a wait for something: a camera that starts three seconds late
			plug := start(t, camera)
			late := returned(t, bus, 0)
			until(t, "readiness", func() bool { r, _ := s.readiness(t); return r.Ready })

			plug.Close()
			until(t, "word that the camera is down again", func() bool { r, _ := s.readiness(t); return r.Streams["gate"].State == "down" })
			failed := s.sum(t, "tracker_source_failures_total", `stream="gate"`)
			until(t, "more tries", func() bool { return s.sum(t, "tracker_source_failures_total", `stream="gate"`) >= failed+2 })
			undisturbed, _ := bus.frames(t, "other")
			start(t, camera)
			back := returned(t, bus, 1)
			t.Logf("first picture %v after the late start, %v after the return", late, back)
			if late > 20*time.Second || back > 20*time.Second { // on an idle machine it is 2 s
				t.Errorf("first picture %v after the late start, %v after the return", late, back)
			}

			var story []string
			for _, e := range bus.events(t, "gate") {
				word := string(e.Type)
				switch e.Type {
				case rle.StreamDown:
					word += " " + e.Code
				case rle.EpochBegan:
					word += fmt.Sprintf(" %d", *e.Epoch)
				}
				if len(story) == 0 || story[len(story)-1] != word { // any number of tries
					story = append(story, word)
				}
			}
			if got := strings.Join(story, ", "); !strings.HasSuffix(got, "stream_down connection_failed, stream_up, epoch 1") || !strings.Contains(got, "stream_up, stream_down") {
				t.Errorf("the camera's events: %s", got)
			}
			others, _ := bus.frames(t, "other")
			if len(others) <= len(undisturbed) || len(bus.events(t, "other")) > 1 || slices.ContainsFunc(others, func(f rle.Frame) bool { return f.Epoch != 0 }) {
				t.Errorf("the other stream was disturbed: %d then %d frames, %d events", len(undisturbed), len(others), len(bus.events(t, "other")))
			}

			tries := s.sum(t, "tracker_source_failures_total", `stream="gate"`)
			if code := s.end(t); code != 0 {
				t.Errorf("exit status %d after SIGTERM", code)
			}
			told := 0
			for line := range strings.Lines(s.log.String()) {
				if strings.Contains(line, "stream=gate") && strings.Contains(line, "stream is down") {
					told++
				}
				if strings.Contains(line, "from=ffmpeg") {
					t.Errorf("a second line about one failure: %s", line)
				}
			}
			if told < 2 || float64(told) > tries/2 { // each trouble once, however often it is met
				t.Errorf("%d lines about %v failures", told, tries)
			}
		})
	}
}

// returned waits for the first picture of an epoch of the camera, and says how long it took.
func returned(t *testing.T, bus *listener, epoch int) time.Duration {
	t.Helper()
	began := time.Now()
	var at time.Time
	until(t, fmt.Sprintf("picture of epoch %d", epoch), func() bool {
		frames, came := bus.frames(t, "gate")
		i := slices.IndexFunc(frames, func(f rle.Frame) bool { return f.Epoch == epoch })
		if i >= 0 {
			at = came[i]
		}
		return i >= 0
	})
	return at.Sub(began).Round(time.Millisecond)
}
