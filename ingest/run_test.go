package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"maskstream/frames"
)

func residentKiB(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("needs Linux's /proc")
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

func TestFileEndsRunWithNil(t *testing.T) {
	n := 0
	var events []Event
	err := Run(t.Context(), Options{URL: "testscene:?size=64x36&frames=7&pace=0"}, func(p *frames.Picture) error {
		if p.Meta.Epoch != 0 || p.Meta.Frame != n || p.Meta.PTS != time.Duration(n)*40*time.Millisecond || p.Meta.RTP != uint32(n)*3600 {
			t.Errorf("picture %d: %+v", n, p.Meta)
		}
		n++
		return nil
	}, func(e Event) { events = append(events, e) })
	if err != nil || n != 7 || len(events) != 1 || events[0].Kind != Up || events[0].Info.Width != 64 {
		t.Errorf("%v after %d pictures, events %v", err, n, events)
	}
}

func TestLoopBeginsAnEpochEachTime(t *testing.T) {
	enough := errors.New("enough")
	seen := map[int]int{}
	err := Run(t.Context(), Options{URL: "testscene:?size=64x36&frames=3&pace=0", Loop: true}, func(p *frames.Picture) error {
		seen[p.Meta.Epoch]++
		if p.Meta.Epoch == 4 {
			return enough
		}
		return nil
	}, nil)
	if !errors.Is(err, enough) || fmt.Sprint(seen) != "map[0:3 1:3 2:3 3:3 4:1]" {
		t.Errorf("%v, %v", err, seen)
	}
}

func TestNewSizeBeginsAnEpoch(t *testing.T) {
	folder := t.TempDir()
	for i, size := range []string{"64x36", "64x36", "32x32", "32x32", "64x36"} {
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=size="+size, "-frames:v", "1", filepath.Join(folder, fmt.Sprintf("%d.png", i)))
	}
	var got []string
	var events []Event
	err := Run(t.Context(), Options{URL: folder}, func(p *frames.Picture) error {
		got = append(got, fmt.Sprintf("%d/%d", p.Meta.Epoch, p.Meta.Frame))
		return nil
	}, func(e Event) { events = append(events, e) })
	if err != nil || strings.Join(got, " ") != "0/0 0/1 1/0 1/1 2/0" {
		t.Errorf("%v, %v", err, got)
	}
	if len(events) != 3 || events[2].Kind != NewEpoch || events[2].Reason != "size" || events[2].Epoch != 2 {
		t.Errorf("%v", events)
	}
}

func TestRunKeepsNoPictureOfWhatItEmits(t *testing.T) {
	var kept *frames.Picture
	err := Run(t.Context(), Options{URL: "testscene:?size=64x36&frames=2&pace=0"}, func(p *frames.Picture) error {
		if kept == nil {
			kept = p.Retain()
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept.Release()
	defer func() {
		if recover() == nil {
			t.Error("somebody else holds a reference")
		}
	}()
	kept.Release()
}

func TestPausesGrowAndStartAnew(t *testing.T) {
	b := backoff{first: time.Second, most: 30 * time.Second}
	want := time.Second
	for i := range 12 {
		if got := b.next(); got < want*79/100 || got > want*121/100 {
			t.Errorf("pause %d is %v, want about %v", i, got, want)
		}
		want = min(want*17/10, 30*time.Second)
	}
	b.reset()
	if got := b.next(); got > 1200*time.Millisecond {
		t.Errorf("after a reset: %v", got)
	}
}

func TestAddressThatCanNeverWorkEndsRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := Run(ctx, Options{URL: "gopher://camera/"}, nil, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestRecordingsAreToldFromStreams(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "clip.mp4")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		file: true, "file://" + file: true, folder: true, // and what waits for nobody:
		"testscene:": false, "rtsp://camera.example/main": false, "http://camera.example/live.ts": false, "nowhere.mp4": false, "": false,
	} {
		if got := Recorded(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}
