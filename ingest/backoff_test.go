package ingest

import (
	"net"
	"testing"
	"time"

	"maskstream/ingest/cameratest"
)

func TestPauseEndsOnceSomebodyListens(t *testing.T) {
	address := cameratest.FreeAddress(t)
	target, err := parseTarget(Options{URL: "rtsp://" + address + "/main"}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	back := make(chan net.Listener, 1)
	time.AfterFunc(knockEvery/4, func() { // after the first knock and before the second
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
		}
		back <- listener
	})
	began := time.Now()
	target.wait(t.Context(), time.Hour) // or the test hangs
	if took := time.Since(began); took < knockEvery/4 {
		t.Errorf("ended after %v, when nobody was there", took)
	}
	defer (<-back).Close()

	const pause = 3 * knockEvery / 2
	began = time.Now()
	target.wait(t.Context(), pause) // who was there all the time, and refuses, is left alone
	if took := time.Since(began); took < pause {
		t.Errorf("ended after %v, when somebody was there all the time", took)
	}
}
