package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func open(t *testing.T, folder string, limit int64) *Spool {
	t.Helper()
	s, err := Open(folder, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// record n is of a size of its own and tells its number.
func record(n int) []byte {
	return append(fmt.Appendf(nil, "%d:", n), bytes.Repeat([]byte{byte(n)}, n%97)...)
}

func add(t *testing.T, s *Spool, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := s.Append(record(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// take reads the records that follow, at most n of them, and returns their numbers.
func take(t *testing.T, s *Spool, n int, ack bool) (numbers []int) {
	t.Helper()
	for len(numbers) < n {
		r, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		var number int
		if _, err := fmt.Sscanf(string(r.Data), "%d:", &number); err != nil || !bytes.Equal(r.Data, record(number)) {
			t.Fatalf("record %q, %v", r.Data, err)
		}
		numbers = append(numbers, number)
		if ack {
			if err := s.Ack(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return numbers
}

func want(t *testing.T, got []int, from, to int) {
	t.Helper()
	var numbers []int
	for n := from; n < to; n++ {
		numbers = append(numbers, n)
	}
	if !slices.Equal(got, numbers) {
		t.Errorf("got %v, want %d to %d", got, from, to)
	}
}

func segmentFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const all = 1 << 20

func TestRecordsComeInTheirOrderAndAgainUntilTheyAreAcknowledged(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	s := open(t, folder, 16<<10) // segments of 2 KiB
	add(t, s, 0, 100)
	want(t, take(t, s, all, false), 0, 100)
	s.Rewind()
	want(t, take(t, s, 40, true), 0, 40)
	want(t, take(t, s, 20, false), 40, 60)
	s.Rewind()
	want(t, take(t, s, all, false), 40, 100)
	if stats := s.Stats(); stats.Records != 60 || stats.Dropped != 0 {
		t.Errorf("%+v", stats)
	}
	s.Rewind()
	want(t, take(t, s, all, true), 40, 100)
	if files := segmentFiles(t, folder); len(files) != 1 || s.Stats().Records != 0 {
		t.Errorf("all are acknowledged, and there are %v, %+v", files, s.Stats())
	}
	changed := s.Changed()
	add(t, s, 100, 103)
	<-changed
	want(t, take(t, s, all, true), 100, 103)
}

func TestTheNextProcessGoesOn(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10)
	add(t, s, 0, 100)
	take(t, s, 37, true)
	if _, err := Open(folder, 16<<10); !errors.Is(err, ErrInUse) {
		t.Errorf("two processes share it: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(nil); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	s = open(t, folder, 16<<10)
	if stats := s.Stats(); stats.Records != 63 || stats.Broken != 0 {
		t.Errorf("%+v", stats)
	}
	add(t, s, 100, 110)
	want(t, take(t, s, all, true), 37, 110)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 16<<10)
	if got := take(t, s, all, true); len(got) != 0 || s.Stats().Records != 0 {
		t.Errorf("%v comes again", got)
	}
}

func TestAFullSpoolDropsItsOldest(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10)
	add(t, s, 0, 50)
	want(t, take(t, s, 10, false), 0, 10) // somebody is reading
	add(t, s, 50, 2000)
	stats := s.Stats()
	if stats.Dropped == 0 || stats.Records+stats.Dropped != 2000 || stats.Bytes > 16<<10 {
		t.Errorf("%+v", stats)
	}
	got := take(t, s, all, true)
	want(t, got, int(stats.Dropped), 2000)
	if err := s.Append(make([]byte, 9<<10)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	add(t, s, 2000, 2001)
	want(t, take(t, s, all, true), 2000, 2001)
}

// TestWhateverADeathLeavesIsReadUpToThere cuts the last segment at every byte, and damages it at every byte.
func TestWhateverADeathLeavesIsReadUpToThere(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 1<<20)
	add(t, s, 0, 12)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := segmentFiles(t, folder)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// survivors is how many records end before a byte.
	survivors := func(at int) (n int) {
		for size := 0; n < 12; n++ {
			if size += int(recordSize(record(n))); size > at {
				break
			}
		}
		return n
	}
	for at := range whole {
		for name, text := range map[string][]byte{
			"cut": whole[:at], "changed": slices.Concat(whole[:at], []byte{whole[at] ^ 0x55}, whole[at+1:]), "zeros": slices.Concat(whole[:at], make([]byte, 64)),
		} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(folder, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			n := survivors(at)
			add(t, s, n, n+2)
			got := take(t, s, all, false)
			want(t, got, 0, n+2)
			if t.Failed() {
				t.Fatalf("%s at byte %d", name, at)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnEndThatWasCutBelowWhatIsAcknowledgedIsWrittenToAgain(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 1<<20)
	add(t, s, 0, 12)
	take(t, s, 10, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(segmentFiles(t, folder)[0], recordSize(record(0))+5); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 1<<20)
	add(t, s, 20, 40)
	s.Rewind()
	want(t, take(t, s, all, true), 20, 40)
}

func TestWhatFollowsDamageDoesNotComeBack(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 1<<20)
	for n := range 8 {
		if err := s.Append([]byte{byte(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := segmentFiles(t, folder)[0]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[3*len(text)/8] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 1<<20)
	if err := s.Append([]byte{99}); err != nil { // of the size of the damaged one
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 1<<20)
	var got []byte
	for {
		r, ok, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, r.Data...)
	}
	if want := []byte{0, 1, 2, 99}; !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestADamagedMiddleLosesItsSegmentAlone(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10)
	add(t, s, 0, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := segmentFiles(t, folder)
	if len(files) < 3 {
		t.Fatalf("only %v", files)
	}
	if err := os.WriteFile(files[1], []byte("garbage that is no record at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "acked"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 16<<10)
	got := take(t, s, all, true)
	if len(got) < 50 || got[0] != 0 || got[len(got)-1] != 99 || !slices.IsSorted(got) || s.Stats().Broken != 1 {
		t.Errorf("%v, %+v", got, s.Stats())
	}
}

func TestADiskThatIsFullIsAnErrorAndNothingElse(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 1<<20)
	add(t, s, 0, 5)
	last := s.segments[len(s.segments)-1]
	file := last.file
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	last.file = full
	if err := s.Append(record(5)); err == nil {
		t.Error("it was written to /dev/full")
	}
	if err := full.Close(); err != nil {
		t.Fatal(err)
	}
	last.file = file
	add(t, s, 5, 8)
	want(t, take(t, s, all, true), 0, 8)
}
