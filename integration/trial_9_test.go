package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

// compareWithPycocotools prints how many pairs of masks are equal, pixel by pixel, and their pixels in all.
const compareWithPycocotools = `
import json, sys
from pycocotools import mask as coco
equal = pixels = 0
for line in sys.stdin:
    pair = json.loads(line)
    a, b = (coco.decode({"size": pair["size"], "counts": pair[key]}) for key in ("sent", "joined"))
    equal += (a == b).all() and a.shape == tuple(pair["size"])
    pixels += int(a.sum())
print(equal, pixels)
`

// board is a checkerboard whose squares are w×h pixels, moved by a shift.
func board(height, width, h, w, shift int) rle.Mask {
	bits := make([]byte, height*width)
	for y := range height {
		for x := range width {
			bits[y*width+x] = byte(((y+shift)/h + (x+shift)/w) % 2)
		}
	}
	return rle.FromBits(height, width, bits)
}

// TestTrial9MaskTooBig tracks 32 objects at 1080p, every other one a checkerboard that is larger than the server's max_payload by
// itself, on one picture. They arrive in parts, the frame of results split by objects, and the connection stays.
func TestTrial9MaskTooBig(t *testing.T) {
	const (
		maxPayload    = 64 << 10
		objects       = 32
		height, width = 1080, 1920
	)
	server := newBusServer(t, "max_payload: 64KB")
	nc := server.start()
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, config, fmt.Sprintf(`
streams: [{name: cam, url: "testscene:?size=%dx%d&fps=0.002"}]
nats: {url: %q, frames: true}
http: {listen: "127.0.0.1:0"}
`, width, height, server.url()))
	// A subscriber that keeps up with hundreds of masks at once.
	var messages []*nats.Msg
	arrived := make(chan *nats.Msg, 1<<16)
	if _, err := nc.ChanSubscribe("tracker.cam.>", arrived); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "-c", config)
	soon(t, "the connection", func() error {
		if s.metric(t, "tracker_nats_connected") != 1 || s.metric(t, `tracker_source_frames_decoded_total{stream="cam"}`) == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})

	// The answer over HTTP has every mask whole: the original.
	var original rle.Frame
	for id := 1; id <= objects; id++ {
		mask := board(height, width, 17, 30, id)
		if id%2 == 0 {
			mask = board(height, width, 270, 480, 10*id)
		}
		body, err := json.Marshal(map[string]any{"object": id, "mask": mask.COCO()})
		if err != nil {
			t.Fatal(err)
		}
		original = rle.Frame{}
		if code := s.request(t, "POST", "/api/streams/cam/prompts", string(body), &original); code != http.StatusOK {
			t.Fatalf("prompt for object %d: status %d", id, code)
		}
	}
	if len(original.Objects) != objects {
		t.Fatalf("the last answer has %d objects", len(original.Objects))
	}
	// What surrounds a mask in a message takes some hundred bytes: between the two sets a mask may go either way.
	large, small := map[int]bool{}, map[int]bool{}
	for _, o := range original.Objects {
		large[o.ID] = len(o.Segmentation.Counts) > maxPayload
		small[o.ID] = len(o.Segmentation.Counts) < maxPayload-2048
	}
	if !large[1] || !small[2] {
		t.Fatalf("masks of object 1 and 2 have %d and %d bytes", len(original.Objects[0].Segmentation.Counts), len(original.Objects[1].Segmentation.Counts))
	}

	var assembler rle.Assembler
	joined, parts := map[int]string{}, 0
	whole, omitted, split := map[int]string{}, map[int]bool{}, [2]int{0, 1}
	take := func(m *nats.Msg) {
		messages = append(messages, m)
		switch {
		case strings.Contains(m.Subject, ".object."):
			var b rle.Batch
			if err := json.Unmarshal(m.Data, &b); err != nil {
				t.Fatal(err)
			}
			if b.Part != nil && b.Masks[0].Seq == original.Seq {
				parts++
			}
			b, complete, err := assembler.Add(b)
			if err != nil {
				t.Fatal(err)
			}
			if complete && b.Masks[0].Seq == original.Seq {
				joined[b.Object] = *b.Masks[0].Counts
			}
		case strings.HasSuffix(m.Subject, ".frame"):
			var f rle.Frame
			if err := json.Unmarshal(m.Data, &f); err != nil {
				t.Fatal(err)
			}
			if f.Seq != original.Seq {
				return
			}
			split[0]++
			if f.Part != nil {
				split[1] = f.Part[1]
			}
			for _, o := range f.Objects {
				whole[o.ID] = o.Segmentation.Counts
			}
			for _, id := range f.Omitted {
				omitted[id] = true
			}
		}
	}
	for deadline := time.After(time.Minute); len(joined) < objects || split[0] < split[1]; {
		select {
		case m := <-arrived:
			take(m)
		case <-deadline:
			t.Fatalf("after a minute %d objects have arrived, and %d of %d parts of the frame", len(joined), split[0], split[1])
		}
	}

	var pairs bytes.Buffer
	pixels := int64(0)
	for _, o := range original.Objects {
		if joined[o.ID] != o.Segmentation.Counts {
			t.Errorf("object %d: the parts make another mask", o.ID)
		}
		if large[o.ID] && !omitted[o.ID] || small[o.ID] && omitted[o.ID] || !omitted[o.ID] && whole[o.ID] != o.Segmentation.Counts {
			t.Errorf("object %d with %d bytes of counts in the frame of results: left out %v", o.ID, len(o.Segmentation.Counts), omitted[o.ID])
		}
		pixels += o.Area
		line, err := json.Marshal(map[string]any{"size": o.Segmentation.Size, "sent": o.Segmentation.Counts, "joined": joined[o.ID]})
		if err != nil {
			t.Fatal(err)
		}
		pairs.Write(append(line, '\n'))
	}
	python := exec.CommandContext(t.Context(), "../.deps/venv/bin/python", "-c", compareWithPycocotools)
	python.Stdin, python.Stderr = &pairs, os.Stderr
	if out, err := python.Output(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprintf("%d %d", objects, pixels) {
		t.Errorf("pycocotools finds %q equal masks and pixels, want %d and %d: %v", out, objects, pixels, err)
	}

	longest, schemas := 0, compileSchemas(t)
	for _, m := range messages {
		schemas.hold(t, ofSubject(m.Subject), m.Data)
		size := len(m.Data) + len("NATS/1.0\r\n\r\n")
		for key := range m.Header {
			size += len(key) + len(": \r\n") + len(m.Header.Get(key))
		}
		longest = max(longest, size)
	}
	if longest > maxPayload {
		t.Errorf("a message of %d bytes", longest)
	}
	log, err := os.ReadFile(server.log)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "Violation") || strings.Contains(string(log), "[ERR]") || nc.Stats().Reconnects != 0 || s.metric(t, "tracker_nats_connected") != 1 {
		t.Errorf("the connection was reset:\n%s", log)
	}
	if first := s.metric(t, "tracker_nats_reconnects_total"); first != 0 {
		t.Errorf("%d reconnections", first)
	}
	t.Logf("%d objects, of which %d in %d parts; the frame of results in %d messages without %d objects; the longest message has %d bytes",
		objects, len(omitted), parts, split[1], len(omitted), longest)
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}
