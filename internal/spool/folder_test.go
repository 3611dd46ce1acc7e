package spool

import (
	"os"
	"testing"
)

// A power cut may take the newest segments and leave the note of what is acknowledged, which is written elsewhere.
func TestRecordsComeAlsoWhereTheAcknowledgedSegmentIsGone(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, 16<<10) // segments of 2 KiB
	add(t, s, 0, 200)
	oldest := segmentFiles(t, folder)[0]
	kept, err := os.ReadFile(oldest)
	if err != nil {
		t.Fatal(err)
	}
	want(t, take(t, s, all, true), 0, 200)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range segmentFiles(t, folder) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(oldest, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		s := open(t, folder, 16<<10)
		add(t, s, 10*i, 10*i+10)
		want(t, take(t, s, all, true), 10*i, 10*i+10)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
