package spool

import (
	"errors"
	"os"
	"testing"
)

func TestDamageWhileItIsOpenCostsTheRestOfItsSegmentAndNoMore(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10) // segments of 2 KiB
	add(t, s, 0, 100)
	take(t, s, 3, true)
	want(t, take(t, s, 2, false), 3, 5) // on their way
	file, err := os.OpenFile(segmentFiles(t, folder)[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for n := range 7 {
		at += recordSize(record(n))
	}
	if _, err := file.WriteAt([]byte("damage!!!"), at); err != nil { // record 7
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, take(t, s, 2, false), 5, 7)
	if _, _, err := s.Next(); !errors.Is(err, errDamaged) {
		t.Fatalf("damage is no error: %v", err)
	}
	stats := s.Stats()
	if stats.Broken != 1 || stats.Dropped == 0 || stats.Records+stats.Dropped != 97 {
		t.Errorf("%+v", stats)
	}
	s.Rewind()
	got := take(t, s, all, true)
	want(t, got[:4], 3, 7)
	want(t, got[4:], 100-(len(got)-4), 100)
	if int64(len(got)) != stats.Records || s.Stats().Records != 0 {
		t.Errorf("%d records of %+v, then %+v", len(got), stats, s.Stats())
	}
	add(t, s, 100, 103)
	want(t, take(t, s, all, true), 100, 103)
}

func TestWhatIsWrittenAfterTheNewestSegmentsWereLostIsNotTakenForAcknowledged(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10)
	add(t, s, 0, 100)
	first := segmentFiles(t, folder)[0]
	old, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, 100, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(segmentFiles(t, folder)[0]); err != nil { // the newest is lost, and an old one comes back
		t.Fatal(err)
	}
	if err := os.WriteFile(first, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 16<<10)
	add(t, s, 200, 210)
	want(t, take(t, s, all, true), 200, 210)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder, 16<<10)
	want(t, take(t, s, all, true), 0, 0)
	add(t, s, 210, 220)
	want(t, take(t, s, all, true), 210, 220)
}
