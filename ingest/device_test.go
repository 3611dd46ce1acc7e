package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestDevicesTakeTheirOptionsAndSayWhatIsWrong(t *testing.T) {
	target, err := parseTarget(Options{URL: "/dev/video0?framerate=30&video_size=1280x720&input_format=mjpeg"}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, kv := range inputOptions(Options{}, target) {
		got[kv[0]] = kv[1]
	}
	if want := map[string]string{"framerate": "30", "video_size": "1280x720", "input_format": "mjpeg", "timestamps": "abs"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("options %v, want %v", got, want)
	}
	if target.open != "/dev/video0" || !target.live {
		t.Errorf("%+v", target)
	}
	for address, c := range map[string]struct {
		kind error
		says string
	}{
		"/dev/video0?size=1280x720": {ErrInvalid, `the option "size"; it takes framerate, input_format, pixel_format, video_size`},
		"/dev/video77":              {ErrNotFound, "/dev/video77: not found: "},
	} {
		if _, err := Open(t.Context(), Options{URL: address}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := os.Stat("/dev/video0"); err == nil {
		return // there is one to look at
	}
	if _, err := Open(t.Context(), Options{URL: "/dev/video0"}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "plug the camera in") {
		t.Errorf("no device at all: %v", err)
	}
}

// TestDeviceThatIsNotThereIsWaitedFor expects Run to try on: a camera may be plugged in later.
func TestDeviceThatIsNotThereIsWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := Run(ctx, Options{URL: "/dev/video77", RetryFirst: time.Millisecond}, nil, func(e Event) {
		if tries++; e.Kind != Down || !errors.Is(e.Err, ErrNotFound) {
			t.Errorf("%+v", e)
		}
		if tries == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || tries != 3 {
		t.Errorf("%v after %d tries", err, tries)
	}
}
