package sink

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"maskstream/rle"
)

func TestLinesAreWholeFramesInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	j, err := CreateJSONLines(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []*rle.Frame{result(0), result(1, small()), result(2, noise(200, 300, 1), small())}
	for _, r := range want {
		if err := j.Write(t.Context(), Item{Result: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Write(t.Context(), Item{Removed: &rle.Removed{V: 1, Step: 6, Removed: 2, Remaining: []int{1, 3, 4}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("%d lines", len(lines))
	}
	for i, r := range want {
		var got rle.Frame
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if r.Objects == nil {
			r.Objects = []rle.Object{}
		}
		if !reflect.DeepEqual(&got, r) {
			t.Errorf("line %d is %.200s", i, lines[i])
		}
	}
	const contract = `{"v":1,"stream":"cam","run":"0badcafe","epoch":0,"seq":1,"frame":1,"pts_ns":40000000,"captured":null,"received":"2026-11-30T15:48:41.123456Z","rtp":3600,"size":[2,3],"direction":"forward",` +
		`"objects":[{"id":1,"state":"tracked","segmentation":{"size":[2,3],"counts":"231"},"area":3,"bbox":[1,0,2,2],"object_score":4.5,"predicted_iou":0.5}]}`
	if lines[1] != contract {
		t.Errorf("got  %s\nwant %s", lines[1], contract)
	}
	if lines[3] != `{"v":1,"step":6,"removed":2,"remaining":[1,3,4]}` {
		t.Errorf("removed: %s", lines[3])
	}
}

func TestLinesAreFlushedAtTheLatestAfterASecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	j, err := CreateJSONLines(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Write(t.Context(), Item{Result: result(0)}); err != nil {
		t.Fatal(err)
	}
	if wait := time.Until(j.Due()); wait <= 0 || wait > time.Second {
		t.Errorf("due in %v", wait)
	}
	if err := j.Flush(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) == 0 || !j.Due().IsZero() {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskIsAClearError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full of Linux")
	}
	defer full.Close()
	j := NewJSONLines("/data/out.jsonl", full)
	if err := j.Write(t.Context(), Item{Result: result(0)}); err != nil {
		t.Fatal(err)
	}
	err = j.Close(t.Context())
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "write results to /data/out.jsonl after 0 whole lines: ") ||
		!strings.HasSuffix(err.Error(), ": free some space, or write elsewhere") {
		t.Errorf("got %v", err)
	}
	if again := j.Write(t.Context(), Item{Result: result(1)}); !errors.Is(again, syscall.ENOSPC) {
		t.Errorf("after the failure: %v", again)
	}
}

func TestFileThatCannotGrowKeepsWholeLinesOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	j, err := CreateJSONLines(path)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; n < 10_000 && err == nil; n++ {
		err = j.Write(t.Context(), Item{Result: result(n, small())})
	}
	closing := j.Close(t.Context())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EFBIG) || !errors.Is(closing, syscall.EFBIG) {
		t.Fatalf("got %v, %v", err, closing)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
		var got rle.Frame
		if err := json.Unmarshal(s.Bytes(), &got); err != nil || got.Frame != lines {
			t.Fatalf("line %d: %v: %s", lines, err, s.Text())
		}
	}
	if lines < 200 || int64(lines) != j.lines {
		t.Errorf("%d lines in the file, %d claimed", lines, j.lines)
	}
}

func TestReaderThatEndedIsAClearError(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	j := NewJSONLines("standard output", writer)
	if err := j.Write(t.Context(), Item{Result: result(0)}); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(t.Context(), time.Now()); !errors.Is(err, syscall.EPIPE) || !strings.HasSuffix(err.Error(), "the program that reads has ended") {
		t.Errorf("got %v", err)
	}
}

func TestFileThatCannotBeCreatedNamesItself(t *testing.T) {
	if _, err := CreateJSONLines("/no/such/out.jsonl"); err == nil || !strings.Contains(err.Error(), "/no/such/out.jsonl") {
		t.Errorf("got %v", err)
	}
}
