package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// lines runs tracker bench at its smallest and gives its lines by name; of several of one name the last.
func lines(t *testing.T, names ...string) map[string]map[string]any {
	t.Helper()
	command := newBench()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(append([]string{"--quick"}, names...))
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
	}
	all := map[string]map[string]any{}
	for line := range bytes.Lines(out.Bytes()) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[fields["name"].(string)] = fields
	}
	return all
}

func TestEveryBenchmarkRunsAndSaysWhatItDid(t *testing.T) {
	all := lines(t)
	for _, b := range benchmarks(benchQuick) {
		line := all[b.name]
		for _, field := range []string{"median_ms", "runs", "cuda_peak_mib", "host_peak_mib"} {
			if _, ok := line[field]; !ok {
				t.Errorf("%s has no %s: %v", b.name, field, line)
			}
		}
	}
	t.Run("with what each saving saves", func(t *testing.T) { savings(t, all) })
}

func savings(t *testing.T, all map[string]map[string]any) {
	saving := []string{"uint8_to_float32", "transfer_restore_pad", "mask_decode_300", "boundary_copies", "segment_images", "amg_1080p"}
	for _, name := range saving {
		if _, ok := all[name]["plain_ms"]; !ok {
			t.Errorf("%s is not measured without the saving", name)
		}
	}
	for _, c := range []struct {
		name, field string
		want        []float64
	}{
		{"track_step", "moved_kib", []float64{1856}}, // the last: four objects, frames and memories at home elsewhere
		{"transfer_restore_pad", "buffers", []float64{3}},
		{"transfer_restore_pad", "plain_buffers", []float64{130}},
		{"boundary_copies", "copies", []float64{1}},
		{"boundary_copies", "plain_copies", []float64{32}},
		{"amg_1080p", "plain_interpolated", []float64{48}},
		{"amg_1080p", "scratch_peak_bytes", []float64{0}},
	} {
		if got, _ := all[c.name][c.field].(float64); !slices.Contains(c.want, got) {
			t.Errorf("%s: %s is %v, want %v", c.name, c.field, all[c.name][c.field], c.want)
		}
	}
	decode := all["mask_decode_300"]
	if chunked, plain := decode["allocated_bytes"].(float64), decode["plain_allocated_bytes"].(float64); chunked > plain/5 {
		t.Errorf("chunked decode allocates %v bytes, the full canvas %v", chunked, plain)
	}
	if amg := all["amg_1080p"]; amg["interpolated"].(float64) >= amg["plain_interpolated"].(float64) {
		t.Errorf("%v interpolations with the savings, %v without", amg["interpolated"], amg["plain_interpolated"])
	}
}

func TestUnknownBenchmarksAreRefused(t *testing.T) {
	command := newBench()
	command.SetArgs([]string{"nothing"})
	if err := command.ExecuteContext(t.Context()); exitStatus(t.Context(), err) != exitUsage {
		t.Errorf("got %v", err)
	}
}
