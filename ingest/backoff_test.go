package ingest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
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
	time.AfterFunc(knockEvery*3/4, func() { // after the first knock and before the second
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
		}
		back <- listener
	})
	began := time.Now()
	target.wait(t.Context(), 10*time.Minute, true) // or the test lasts as long
	if took := time.Since(began); took < knockEvery*3/4 {
		t.Errorf("ended after %v, when nobody was there", took)
	}
	defer (<-back).Close()

	const pause = 3 * knockEvery / 2
	began = time.Now()
	target.wait(t.Context(), pause, true) // who was there all the time, and refuses, is left alone
	if took := time.Since(began); took < pause {
		t.Errorf("ended after %v, when somebody was there all the time", took)
	}
}

// TestACameraThatRefusesIsNotKnockedAt: a knock is a connection that says nothing.
func TestACameraThatRefusesIsNotKnockedAt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var knocks atomic.Int32
	var camera sync.WaitGroup
	camera.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			camera.Go(func() {
				defer connection.Close()
				if n, _ := connection.Read(make([]byte, 4096)); n == 0 {
					knocks.Add(1)
					return
				}
				_, _ = io.WriteString(connection, "RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n")
			})
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	downs := 0
	err = Run(ctx, Options{URL: "rtsp://" + listener.Addr().String() + "/main", RetryFirst: 10 * time.Millisecond}, nil, func(e Event) {
		if !errors.Is(e.Err, ErrNotFound) {
			t.Errorf("it is down with %v", e.Err)
		}
		if downs++; downs == 3 {
			cancel()
		}
	})
	listener.Close()
	camera.Wait()
	if n := knocks.Load(); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d knocks until %v", n, err)
	}
}
