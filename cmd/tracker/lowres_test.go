package main

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"maskstream/model/checkpoint"
)

// written is a low-resolution file with two tensors, not closed yet; the second has more bytes than are moved at once.
func written(t *testing.T, path string) *lowRes {
	t.Helper()
	l, err := newLowRes(path)
	if err != nil {
		t.Fatal(err)
	}
	large := make([]float32, 300000)
	for i := range large {
		large[i] = float32(i)
	}
	if err := l.write("0/0/1/object_pointer", []int{2}, []float32{-1, 0.5}); err != nil {
		t.Fatal(err)
	}
	if err := l.write("0/0/1/low_res_logits", []int{300, 1000}, large); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLowResolutionValuesMakeWayWhereTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "low.safetensors")
	l := written(t, path)
	before, err := l.values.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the values were copied, %v", err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("%v are left over", left)
	}
	c, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if pointer, err := c.Float32s("0/0/1/object_pointer"); err != nil || !slices.Equal(pointer, []float32{-1, 0.5}) {
		t.Errorf("the pointer is %v, %v", pointer, err)
	}
	logits, err := c.Float32s("0/0/1/low_res_logits")
	if err != nil || len(logits) != 300000 {
		t.Fatalf("%d logits, %v", len(logits), err)
	}
	for i, v := range logits {
		if v != float32(i) {
			t.Fatalf("logit %d is %g", i, v)
		}
	}
}

func TestLowResolutionValuesAreKeptWhereTheDiskIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "low.safetensors")
	if err := os.WriteFile(path, []byte("of yesterday"), 0o666); err != nil {
		t.Fatal(err)
	}
	l := written(t, path)
	want, err := os.ReadFile(l.values.Name())
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := limit
	full.Cur = uint64(l.size + 20) // less than the header
	signal.Ignore(syscall.SIGXFSZ) // as execute does
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	err = l.close()
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "the values are kept in "+l.values.Name()) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(l.values.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are kept of %d, %v", len(got), len(want), err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "of yesterday" {
		t.Errorf("%d bytes have the result's name, %v", len(got), err)
	}
}
