package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"maskstream/rle"
)

func TestASessionBeyondItsPoolUsesTheOtherAndGivesTheSameMasks(t *testing.T) {
	session := []string{"testscene:?size=320x180&frames=40&pace=0", "--box", "1@20:" + filmBox, "--point", "2@20:60,60", "--reverse"}
	masks := func(flags ...string) (all []string) {
		for _, f := range trackLines[rle.Frame](t, slices.Concat(session, flags)...) {
			text, err := json.Marshal(f.Objects)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		return all
	}
	want := masks()
	if len(want) != 2+20+21 {
		t.Fatalf("%d lines", len(want))
	}
	const little = "4MiB" // half of it for frames
	for name, flags := range map[string][]string{
		"in the network's pool": {"--network-bytes", little},
		"in the host's pool":    {"--host-bytes", "1MiB", "--offload-state"},
	} {
		if got := masks(flags...); !slices.Equal(got, want) {
			t.Errorf("%s: masks differ", name)
		}
	}
	stdout, stderr, status := call(t, "", slices.Concat([]string{"track"}, session, []string{"--network-bytes", little, "--host-bytes", "100KiB"})...)
	if status != exitFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--host-bytes") || !strings.Contains(stderr, `pool "host"`) {
		t.Errorf("where both are full: exit status %d, %q", status, stderr)
	}
	if n := strings.Count(stdout, "\n"); n < 4 || n >= len(want) {
		t.Errorf("%d lines were written before", n)
	}
	if _, stderr, status := call(t, "", slices.Concat([]string{"track"}, session, []string{"--network-bytes", "much"})...); status != exitUsage || !strings.Contains(stderr, `"much" is no size`) {
		t.Errorf("exit status %d, %q", status, stderr)
	}
}
