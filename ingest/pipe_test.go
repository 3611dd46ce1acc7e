package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func namedPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe.ts")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPipeIsReadToItsEnd(t *testing.T) {
	data, err := os.ReadFile(clip(t, "a.ts", append(smooth("160x90", 1), "-c:v", "mpeg2video")...))
	if err != nil {
		t.Fatal(err)
	}
	path := namedPipe(t)
	go func() { _ = os.WriteFile(path, data, 0o600) }() // once somebody reads
	r := open(t, path)
	if !r.Info().Once {
		t.Errorf("%+v", r.Info())
	}
	if n := readAll(t, r, nil); n != 10 {
		t.Errorf("%d pictures", n)
	}
}

func TestWaitingForAPipeEndsWithItsContext(t *testing.T) {
	path := namedPipe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, Options{URL: path}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a writer: %v", err)
	}

	data, err := os.ReadFile(clip(t, "a.ts", append(smooth("160x90", 1), "-c:v", "mpeg2video")...))
	if err != nil {
		t.Fatal(err)
	}
	stalled := make(chan *os.File, 1)
	go func() {
		writer, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = writer.Write(data[:len(data)/2])
		}
		if err != nil {
			t.Error(err)
		}
		stalled <- writer // open: more may come
	}()
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, err := Open(ctx, Options{URL: path})
	for err == nil {
		var p interface{ Release() }
		if p, err = r.Next(ctx); err == nil {
			p.Release()
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a writer that stalls: %v", err)
	}
	if r != nil {
		_ = r.Close()
	}
	_ = (<-stalled).Close()
}

func TestImagesThatAreNoFilesAreRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(folder, "0.png")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{URL: folder}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
