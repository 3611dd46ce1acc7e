package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestChangesOfTheFileAreNoticedHoweverItIsWritten(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, name string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.Symlink(to, path+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, filepath.Join(folder, to)); err != nil {
			t.Fatal(err)
		}
	}
	write("plain/tracker.yaml", "0")
	write("away/real.yaml", "0")
	if err := os.Mkdir(filepath.Join(folder, "linked"), 0o700); err != nil {
		t.Fatal(err)
	}
	link("../away/real.yaml", "linked/tracker.yaml")
	// As an orchestrator mounts a configuration: the file is a link through a link to a folder, which is replaced.
	write("mounted/..1/tracker.yaml", "0")
	write("mounted/..2/tracker.yaml", "1")
	link("..1", "mounted/..data")
	link("..data/tracker.yaml", "mounted/tracker.yaml")

	for name, c := range map[string]struct {
		path    string
		changes []func()
	}{
		"written and replaced": {"plain/tracker.yaml", []func(){
			func() { write("plain/tracker.yaml", "1") },
			func() { move(write("plain/.tracker.yaml.swp", "2"), "plain/tracker.yaml") },
			func() { write("plain/tracker.yaml", "3") }, // of the new one
		}},
		"behind a link": {"linked/tracker.yaml", []func(){
			func() { write("away/real.yaml", "1") },
			func() { move(write("away/new", "2"), "away/real.yaml") },
		}},
		"mounted": {"mounted/tracker.yaml", []func(){func() { link("..2", "mounted/..data") }}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reload{path: filepath.Join(folder, c.path), fleet: newFleet(wiring{log: slog.New(slog.DiscardHandler)}, 0, nil)}
			changed, err := r.watch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			write(filepath.Join(filepath.Dir(c.path), "other"), "of no concern")
			for i, change := range c.changes {
				change()
				select {
				case <-changed:
				case <-time.After(30 * time.Second):
					t.Fatalf("change %d is not noticed", i)
				}
			}
			select {
			case <-changed:
				t.Error("something changed again by itself")
			case <-time.After(2 * settle): // not a wait for something: nothing must come
			}
		})
	}

	pipe := filepath.Join(folder, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&reload{path: pipe}).watch(t.Context()); err == nil {
		t.Error("a pipe is watched")
	}
}
