package integration

import (
	"testing"
	"time"

	"maskstream/ingest/cameratest"
)

func TestReconnectingLeavesNothingBehind(t *testing.T) { reconnects(t, 4) }

// reconnects pulls the plug of a camera over and over, and looks at what the service holds each time the camera is back.
func reconnects(t *testing.T, cycles int) {
	t.Helper()
	camera := cameratest.Start(t, cameratest.Options{})
	s := serve(t, "-c", configure(t, "  - {name: gate, url: '"+camera.URL()+"', timeout: 5s, history: 1}")) // a history fills up and would look like a leak
	bus := listen(t, s)
	cycle := func(epoch int) {
		t.Helper()
		camera.Close()
		until(t, "word that the camera is down", func() bool { r, _ := s.readiness(t); return r.Streams["gate"].State == "down" })
		time.Sleep(1500 * time.Millisecond) // so that it knocks in vain: a camera that was away is met at once when it is back
		camera = cameratest.Start(t, cameratest.Options{Address: camera.Address})
		returned(t, bus, epoch)
	}
	returned(t, bus, 0)
	const warm = 2 // first times take memory that is kept
	for epoch := 1; epoch <= warm; epoch++ {
		cycle(epoch)
	}
	goroutines, resident := s.sum(t, "go_goroutines"), s.sum(t, "process_resident_memory_bytes")
	descriptors := s.sum(t, "process_open_fds")
	for epoch := warm + 1; epoch <= warm+cycles; epoch++ {
		cycle(epoch)
		if epoch%10 == 0 {
			t.Logf("after %d: %v goroutines, %.1f MiB, %v descriptors", epoch, s.sum(t, "go_goroutines"), s.sum(t, "process_resident_memory_bytes")/(1<<20), s.sum(t, "process_open_fds"))
		}
	}
	more := s.sum(t, "go_goroutines") - goroutines
	grown := (s.sum(t, "process_resident_memory_bytes") - resident) / (1 << 20)
	opened := s.sum(t, "process_open_fds") - descriptors
	t.Logf("%d cycles: %v goroutines then %+v, %.1f MiB then %+.1f, %v descriptors then %+v", cycles, goroutines, more, resident/(1<<20), grown, descriptors, opened)
	if more > 3 || grown > 24 || opened > 3 { // one lost connection a cycle would be far more over 50
		t.Errorf("%+v goroutines, %+.1f MiB, %+v descriptors after %d cycles", more, grown, opened, cycles)
	}
	if got := s.sum(t, "tracker_source_reconnects_total", `stream="gate"`); int(got) != warm+cycles {
		t.Errorf("%v reconnects are counted of %d", got, warm+cycles)
	}
}
