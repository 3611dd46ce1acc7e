package integration

import (
	"fmt"
	"testing"

	"maskstream/ingest/cameratest"
)

// TestWhatFFmpegPushesIsTracked has a media server between the camera and the tracker, as sites with many cameras do: without a
// publisher there is no such path, and it comes back as another one.
func TestWhatFFmpegPushesIsTracked(t *testing.T) {
	relay := cameratest.StartRelay(t)
	s := serve(t, "-c", configure(t, fmt.Sprintf("  - {name: gate, url: '%s'}", relay.URL())))
	bus := listen(t, s)
	down := func(code string) func() bool {
		return func() bool {
			r, _ := s.readiness(t)
			return r.Streams["gate"].State == "down" && r.Streams["gate"].Code == code
		}
	}
	until(t, "word that nobody publishes", down("not_found"))
	for epoch, coded := range [][]string{
		{"-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-bf", "2"},
		{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=10"},
	} {
		stop := relay.Push(t, coded...)
		returned(t, bus, epoch)
		stop()
		until(t, "word that nobody publishes", down("not_found"))
	}
}
