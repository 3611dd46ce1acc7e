package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"maskstream/frames"
)

// damage spoils a file's bytes in one of the ways that disks, networks and people have.
func damage(data []byte, r *rand.Rand) (spoiled []byte, how string) {
	data = bytes.Clone(data)
	switch r.IntN(4) {
	case 0:
		n := 1 + r.IntN(len(data)/50)
		for range n {
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		}
		return data, fmt.Sprintf("%d bytes flipped", n)
	case 1:
		at := r.IntN(len(data))
		return data[:at], fmt.Sprintf("cut at %d", at)
	case 2:
		n := 1 + r.IntN(len(data)/4)
		a, b := r.IntN(len(data)-n), r.IntN(len(data)-n)
		piece := bytes.Clone(data[a : a+n])
		copy(data[a:], data[b:b+n])
		copy(data[b:], piece)
		return data, fmt.Sprintf("%d bytes at %d and %d swapped", n, a, b)
	default:
		n := 1 + r.IntN(len(data)/4)
		at := r.IntN(len(data) - n)
		if r.IntN(2) == 0 {
			clear(data[at : at+n])
			return data, fmt.Sprintf("%d bytes at %d zeroed", n, at)
		}
		return append(data[:at], data[at+n:]...), fmt.Sprintf("%d bytes at %d left out", n, at)
	}
}

// hostileClips are three small ones that differ in container, codec and colour.
func hostileClips(t *testing.T) []string {
	return []string{
		clip(t, "a.mp4", append(smooth("320x180", 3), "-c:v", "libx264", "-g", "10", "-bf", "2", "-pix_fmt", "yuv420p", "-movflags", "+faststart")...),
		clip(t, "a.ts", append(smooth("320x180", 3), "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=10", "-pix_fmt", "yuv420p10le")...),
		clip(t, "a.webm", append(smooth("213x119", 3), "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "10")...),
	}
}

// outcome is what reading a file in a process of its own came to.
type outcome struct {
	Pictures, DecodeErrors int64
	Error                  string // empty at the end of the file
	PeakMiB                int
}

const (
	hostileLimit = 60 * time.Second // for a clip of three seconds
	hostileMiB   = 600              // of resident memory
)

// readDamaged reads n damaged variants of each clip, each in a process of its own, so that a crash is seen as one.
func readDamaged(t *testing.T, n int) {
	whole, partial, none, errs := 0, 0, 0, int64(0)
	worst, slowest := 0, time.Duration(0)
	for at, path := range hostileClips(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			spoiled, how := damage(data, rand.New(rand.NewPCG(uint64(at), uint64(i))))
			file := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(file, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s, variant %d: %s", filepath.Base(path), i, how)
			started := time.Now()
			got, err := readApart(t, file)
			slowest = max(slowest, time.Since(started))
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case strings.Contains(got.Error, "\n") || got.Pictures == 0 && got.Error == "":
				t.Errorf("%s: no picture, and the error is %q", name, got.Error)
			case got.PeakMiB > hostileMiB:
				t.Errorf("%s: %d MiB", name, got.PeakMiB)
			case got.Pictures == 0:
				none++
			case got.Error == "" && got.Pictures >= 30:
				whole++
			default:
				partial++
			}
			errs, worst = errs+got.DecodeErrors, max(worst, got.PeakMiB)
		}
	}
	t.Logf("%d read to their end, %d in part, %d not at all; %d decode errors; at most %d MiB and %v", whole, partial, none, errs, worst, slowest.Round(10*time.Millisecond))
	if whole+partial == 0 || none == 0 && n > 20 || errs == 0 {
		t.Error("the damage is too little or too much to show anything")
	}
}

// readApart runs this test's binary to read one file.
func readApart(t *testing.T, file string) (got outcome, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hostileLimit)
	defer cancel()
	process := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestReadsOneFileApart$")
	process.Env = append(os.Environ(), "INGEST_TEST_FILE="+file)
	var stderr bytes.Buffer
	process.Stderr = &stderr
	out, err := process.Output()
	if ctx.Err() != nil {
		return got, fmt.Errorf("it hangs for %v", hostileLimit)
	}
	if err != nil {
		return got, fmt.Errorf("%w: %.2000s", err, stderr.String())
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return got, json.Unmarshal(line, &got)
}

// TestReadsOneFileApart is the other process; by itself it reads the test scene.
func TestReadsOneFileApart(t *testing.T) {
	file := os.Getenv("INGEST_TEST_FILE")
	if file == "" {
		file = "testscene:?size=64x36&frames=3&pace=0"
	} else {
		slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	}
	var got outcome
	if err := readEverything(t.Context(), file, &got); err != nil {
		got.Error = err.Error()
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	got.PeakMiB = int(usage.Maxrss / 1024)
	line, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if os.Getenv("INGEST_TEST_FILE") == "" && (got.Pictures != 3 || got.Error != "") {
		t.Errorf("%+v", got)
	}
}

// readEverything decodes and paints, as the preview does, every picture.
func readEverything(ctx context.Context, file string, got *outcome) error {
	r, err := Open(ctx, Options{URL: file, MaxPixels: 4096 * 4096})
	if err != nil {
		return err
	}
	defer r.Close()
	var painter frames.Painter
	var canvas *image.RGBA
	for {
		p, err := r.Next(ctx)
		got.DecodeErrors = r.Stats().DecodeErrors
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		canvas, err = painter.Paint(p, canvas)
		p.Release()
		if err != nil {
			return err
		}
		got.Pictures++
	}
}

// TestDamagedFilesNeitherCrashNorHang is the short form of TestHundredsOfDamagedFilesNeitherCrashNorHang.
func TestDamagedFilesNeitherCrashNorHang(t *testing.T) { readDamaged(t, 5) }
