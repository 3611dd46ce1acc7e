package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// TestStandardInputIsReadAsAPipeAndAsAFile replaces this process's standard input, as a shell does.
func TestStandardInputIsReadAsAPipeAndAsAFile(t *testing.T) {
	path := clip(t, "a.ts", append(smooth("160x90", 1), "-c:v", "mpeg2video")...)
	before, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Dup2(before, 0)
		_ = unix.Close(before)
	})
	read := func(name string, once bool) {
		t.Helper()
		r, err := Open(t.Context(), Options{URL: name})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if i := r.Info(); i.Once != once || i.Live || i.Source != name {
			t.Errorf("%+v", i)
		}
		if n := readAll(t, r, nil); n != 10 {
			t.Errorf("%s: %d pictures", name, n)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.Dup2(int(file.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	read("pipe:0", false)
	read("-", false)

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := unix.Dup2(int(out.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = in.Write(data)
		_ = in.Close()
	}()
	read("pipe:0", true)

	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := unix.Dup2(int(null.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{URL: "pipe:0"}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "pipe the video in") {
		t.Errorf("no input: %v", err)
	}
}
