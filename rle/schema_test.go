package rle

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// check holds a message to its schema.
func check(t testing.TB, schema string, data []byte) error {
	t.Helper()
	text, err := os.ReadFile("../docs/schema/" + schema + ".json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(schema, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	message, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return compiled.Validate(message)
}

func to[T any](v T) *T { return &v }

var received = time.Date(2026, 11, 30, 15, 48, 41, 123456000, time.UTC)

// exampleFrame is the frame of results of the contract.
func exampleFrame() *Frame {
	return &Frame{V: 1, Stream: "clip", Run: "9f3a01c2", Seq: 12, Frame: 12, Step: to(1), PTS: 400000000, Received: received, RTP: 36000,
		Size: [2]int{2, 3}, Direction: Forward, Objects: []Object{{ID: 1, State: Tracked, Segmentation: COCO{Size: [2]int{2, 3}, Counts: "221O"},
			Area: 3, BBox: [4]int{1, 0, 2, 2}, ObjectScore: to[float32](4.2), PredictedIoU: to[float32](0.93)}}}
}

const exampleLine = `{"v":1,"stream":"clip","run":"9f3a01c2","epoch":0,"seq":12,"frame":12,"step":1,"pts_ns":400000000,"captured":null,"received":"2026-11-30T15:48:41.123456Z","rtp":36000,"size":[2,3],"direction":"forward",` +
	`"objects":[{"id":1,"state":"tracked","segmentation":{"size":[2,3],"counts":"221O"},"area":3,"bbox":[1,0,2,2],"object_score":4.2,"predicted_iou":0.93}]}`

func TestMessagesReadAsTheContractHasThem(t *testing.T) {
	occluded := exampleFrame()
	occluded.Step, occluded.Captured = nil, to(received.In(time.FixedZone("", 3600)))
	occluded.Received = *occluded.Captured
	occluded.Objects[0] = Object{ID: 0, State: Occluded, Segmentation: Empty(2, 3).COCO()}
	none := exampleFrame()
	none.Objects = nil
	past := exampleFrame()
	past.Past, past.Direction = true, Reverse
	escaped := exampleFrame()
	escaped.Objects[0].Segmentation.Counts = `<>\0`
	batch := func(masks ...BatchMask) Batch {
		return Batch{V: 1, Stream: "gate", Run: "9f3a01c2", Epoch: 2, Object: 1, Size: [2]int{2, 3}, Masks: masks}
	}
	part := batch(BatchMask{Seq: 7, Frame: 8, PTS: 9, Direction: Reverse, State: Lost, CountsPart: to("221"), Area: 3, BBox: [4]int{1, 0, 2, 2}, ObjectScore: to[float32](0.25)})
	part.Part = &[2]int{0, 2}

	for _, c := range []struct {
		name, schema string
		message      any
		want         string
	}{
		{"a frame", "frame", exampleFrame(), exampleLine},
		{"an occluded object, local times", "frame", occluded,
			`{"v":1,"stream":"clip","run":"9f3a01c2","epoch":0,"seq":12,"frame":12,"pts_ns":400000000,"captured":"2026-11-30T15:48:41.123456Z","received":"2026-11-30T15:48:41.123456Z","rtp":36000,"size":[2,3],"direction":"forward",` +
				`"objects":[{"id":0,"state":"occluded","segmentation":{"size":[2,3],"counts":"6"},"area":0,"bbox":[0,0,0,0],"object_score":null,"predicted_iou":null}]}`},
		{"no objects", "frame", none, exampleLine[:strings.Index(exampleLine, `[{"id"`)] + "[]}"},
		{"no escapes for HTML", "frame", escaped, strings.Replace(exampleLine, "221O", `<>\\0`, 1)},
		{"a frame that had gone by", "frame", past, strings.Replace(exampleLine, `"forward",`, `"reverse","past":true,`, 1)},
		{"a reverse pass done", "event", Event{V: 1, Stream: "gate", Run: "9f3a01c2", N: 3, Time: received, Type: ReverseDone, Frames: to(0), Reason: "its objects were removed"},
			`{"v":1,"stream":"gate","run":"9f3a01c2","n":3,"time":"2026-11-30T15:48:41.123456Z","type":"reverse_done","frames":0,"reason":"its objects were removed"}`},
		{"a search that found nothing", "event", Event{V: 1, Stream: "gate", Run: "9f3a01c2", N: 4, Time: received, Type: SearchDone, Found: to(0), Reason: "nothing passes the filters"},
			`{"v":1,"stream":"gate","run":"9f3a01c2","n":4,"time":"2026-11-30T15:48:41.123456Z","type":"search_done","found":0,"reason":"nothing passes the filters"}`},
		{"a batch", "batch", batch(batchMask(exampleFrame(), &exampleFrame().Objects[0])),
			`{"v":1,"stream":"gate","run":"9f3a01c2","epoch":2,"object":1,"size":[2,3],"masks":[{"seq":12,"frame":12,"pts_ns":400000000,"direction":"forward","state":"tracked","counts":"221O","area":3,"bbox":[1,0,2,2],"object_score":4.2}]}`},
		{"an occluded object's batch", "batch", batch(batchMask(occluded, &occluded.Objects[0])),
			`{"v":1,"stream":"gate","run":"9f3a01c2","epoch":2,"object":1,"size":[2,3],"masks":[{"seq":12,"frame":12,"pts_ns":400000000,"direction":"forward","state":"occluded","counts":"6","area":0,"bbox":[0,0,0,0],"object_score":null}]}`},
		{"a part", "batch", part,
			`{"v":1,"stream":"gate","run":"9f3a01c2","epoch":2,"object":1,"size":[2,3],"masks":[{"seq":7,"frame":8,"pts_ns":9,"direction":"reverse","state":"lost","counts_part":"221","area":3,"bbox":[1,0,2,2],"object_score":0.25}],"part":[0,2]}`},
		{"removed", "removed", Removed{V: 1, Step: 6, Removed: 2, Remaining: []int{1, 3, 4}}, `{"v":1,"step":6,"removed":2,"remaining":[1,3,4]}`},
		{"the last removed", "removed", Removed{V: 1, Step: 6, Removed: 2}, `{"v":1,"step":6,"removed":2,"remaining":[]}`},
		{"an epoch", "event", Event{V: 1, Stream: "gate", Run: "9f3a01c2", N: 3, Time: received, Type: EpochBegan, Epoch: to(0), Reason: "reconnected"},
			`{"v":1,"stream":"gate","run":"9f3a01c2","n":3,"time":"2026-11-30T15:48:41.123456Z","type":"epoch","epoch":0,"reason":"reconnected"}`},
		{"an object lost", "event", Event{V: 1, Stream: "gate", Run: "9f3a01c2", Time: received.Local(), Type: ObjectLost, Object: to(0)},
			`{"v":1,"stream":"gate","run":"9f3a01c2","n":0,"time":"2026-11-30T15:48:41.123456Z","type":"object_lost","object":0}`},
		{"a status", "status", Status{V: 1, Stream: "gate", Run: "9f3a01c2", Time: received, State: "up", FPS: 24.5, LatencyMS: 31, Objects: []int{1, 7}, Frames: 900, Dropped: map[string]int64{"decoded": 2}},
			`{"v":1,"stream":"gate","run":"9f3a01c2","time":"2026-11-30T15:48:41.123456Z","state":"up","fps":24.5,"latency_ms":31,"objects":[1,7],"frames":900,"dropped":{"decoded":2}}`},
		{"a status of nothing", "status", Status{V: 1, Stream: "gate", Run: "9f3a01c2", Time: received.Local(), State: "down"},
			`{"v":1,"stream":"gate","run":"9f3a01c2","time":"2026-11-30T15:48:41.123456Z","state":"down","fps":0,"latency_ms":0,"objects":[],"frames":0,"dropped":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := Marshal(c.message)
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != c.want {
				t.Errorf("is  %s\nnot %s", data, c.want)
			}
			if err := check(t, c.schema, data); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSchemasRefuseWhatTheContractDoesNotHave(t *testing.T) {
	const batch = `{"v":1,"stream":"gate","run":"9f3a01c2","epoch":2,"object":1,"size":[2,3],"masks":[{"seq":12,"frame":12,"pts_ns":4,"direction":"forward","state":"tracked","counts":"221O","area":3,"bbox":[1,0,2,2],"object_score":4.2}]}`
	const event = `{"v":1,"stream":"gate","run":"9f3a01c2","n":0,"time":"2026-11-30T15:48:41Z","type":"object_lost","object":0}`
	for _, c := range []struct{ schema, message, old, new string }{
		{"frame", exampleLine, `"v":1`, `"v":2`},
		{"frame", exampleLine, `"stream":"clip"`, `"stream":"a.b"`},
		{"frame", exampleLine, `"stream":"clip"`, `"stream":"status"`},
		{"frame", exampleLine, `9f3a01c2`, `9F3A01C2`},
		{"frame", exampleLine, `"captured":null,`, ``},
		{"frame", exampleLine, `15:48:41.123456Z`, `noon`},
		{"frame", exampleLine, `"counts":"221O"`, `"counts":[2,2,1,1]`},
		{"frame", exampleLine, `221O`, `22~`},
		{"frame", exampleLine, `tracked`, `found`},
		{"frame", exampleLine, `"predicted_iou":0.93`, `"iou":0.93`},
		{"batch", batch, `"counts"`, `"counts_part"`},
		{"batch", batch, `4.2}]}`, `4.2}],"part":[0,2]}`},
		{"batch", batch, `"counts":"221O",`, ``},
		{"batch", batch, `"counts":"221O"`, `"counts":"221O","counts_part":"221O"`},
		{"event", event, `,"object":0`, ``},
		{"event", event, `object_lost`, `epoch`},
		{"event", event, `object_lost`, `lost`},
		{"event", event, `object_lost`, `reverse_done`},
		{"event", event, `object_lost`, `search_done`},
		{"frame", exampleLine, `"objects"`, `"past":false,"objects"`},
		{"removed", `{"v":1,"step":6,"removed":2,"remaining":[]}`, `[]`, `null`},
	} {
		changed := strings.Replace(c.message, c.old, c.new, 1)
		if changed == c.message {
			t.Fatalf("%q is not in %s", c.old, c.message)
		}
		if err := check(t, c.schema, []byte(c.message)); err != nil {
			t.Fatal(err)
		}
		if err := check(t, c.schema, []byte(changed)); err == nil {
			t.Errorf("%s is accepted as a %s", changed, c.schema)
		}
	}
}
