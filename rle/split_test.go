package rle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// checker is the mask whose string is longest: every pixel differs from its neighbours.
func checker(height, width int) Mask {
	bitmap := make([]byte, height*width)
	for i := range bitmap {
		bitmap[i] = byte((i/width + i%width) % 2)
	}
	return FromBits(height, width, bitmap)
}

// backslashes is a mask of 100×100 whose string is full of what JSON escapes: runs that differ by 44 and −20.
func backslashes() Mask {
	mask := Mask{Height: 100, Width: 100}
	left, run := uint32(10000), uint32(21)
	for i := 0; left > 0; i++ {
		run = min(run, left)
		mask.Runs = append(mask.Runs, run)
		left -= run
		if i%2 == 1 { // the next two, one of each colour
			if i%6 == 1 {
				run += 44
			} else {
				run -= 20
			}
		}
	}
	return mask
}

func batchOf(masks ...Mask) Batch {
	batch := Batch{V: 1, Stream: "gate", Run: "9f3a01c2", Epoch: 3, Object: 2147483647, Size: [2]int{masks[0].Height, masks[0].Width}}
	for i, mask := range masks {
		batch.Masks = append(batch.Masks, BatchMask{Seq: int64(100 + i), Frame: i, PTS: int64(i) * 40e6, Direction: Forward, State: Tracked,
			Counts: to(mask.Counts()), Area: mask.Area(), BBox: mask.Box(), ObjectScore: to[float32](1.5)})
	}
	return batch
}

// reassemble reads messages as a subscriber does.
func reassemble(t *testing.T, messages []Message, limit int) []BatchMask {
	t.Helper()
	var assembler Assembler
	var masks []BatchMask
	ids := make(map[string]bool)
	for _, message := range messages {
		if len(message.Data) > limit {
			t.Fatalf("%s has %d bytes, and %d are allowed", message.ID, len(message.Data), limit)
		}
		if ids[message.ID] {
			t.Fatalf("the id %s comes twice", message.ID)
		}
		ids[message.ID] = true
		var batch Batch
		if err := json.Unmarshal(message.Data, &batch); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("gate/9f3a01c2/3/%d/2147483647", batch.Masks[0].Seq)
		if batch.Part != nil {
			id += fmt.Sprintf("/%d", batch.Part[0])
		}
		if message.ID != id {
			t.Errorf("id %s, want %s", message.ID, id)
		}
		batch, whole, err := assembler.Add(batch)
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			masks = append(masks, batch.Masks...)
		}
	}
	return masks
}

func TestBatchesSplitAndComeBack(t *testing.T) {
	tiny, big, odd := Empty(100, 100), checker(100, 100), backslashes()
	if strings.Count(odd.Counts(), `\`) < 100 {
		t.Fatalf("there is nothing to escape in %q", odd.Counts())
	}
	for _, c := range []struct {
		name     string
		limit    int
		masks    []Mask
		messages int // 0: more than a few
	}{
		{"no limit", 0, []Mask{big, tiny, big}, 1},
		{"all fit", 100_000, []Mask{big, tiny, big}, 1},
		{"between masks", 11_000, []Mask{big, tiny, big}, 2},
		{"each by itself", 10_400, []Mask{big, big, big}, 3},
		{"two small ones together, the large in parts, the rest together", 5_300, []Mask{tiny, tiny, big, tiny, tiny}, 4},
		{"first and last too large", 5_300, []Mask{big, tiny, big}, 5},
		{"escapes count", 400, []Mask{odd, odd}, 0},
		{"hardly any room", 330, []Mask{tiny, odd, tiny}, 0},
		{"hardly any room, two digits", 340, []Mask{big}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch := batchOf(c.masks...)
			messages, err := EncodeBatch(batch, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			if c.messages != 0 && len(messages) != c.messages || c.messages == 0 && len(messages) < 5 {
				t.Errorf("%d messages, want %d", len(messages), c.messages)
			}
			for _, message := range messages[:min(6, len(messages))] {
				if err := check(t, "batch", message.Data); err != nil {
					t.Error(err)
				}
			}
			limit := c.limit
			if limit == 0 {
				limit = 1 << 20
			}
			got, want := reassemble(t, messages, limit), batch.Masks
			gotJSON, _ := json.Marshal(got)
			wantJSON, _ := json.Marshal(want)
			if string(gotJSON) != string(wantJSON) {
				t.Errorf("comes back as %.300s, not %.300s", gotJSON, wantJSON)
			}
		})
	}
}

func TestEveryLimitHoldsOrIsRefused(t *testing.T) {
	batch := batchOf(Empty(100, 100), backslashes(), FromBits(2, 3, []byte{0, 1, 0, 0, 1, 1}))
	frame := splitFrame()
	encoded := 0
	for limit := 1; limit < 3_000; limit += 7 {
		messages, err := EncodeBatch(batch, limit)
		if err == nil {
			encoded++
			if masks := reassemble(t, messages, limit); len(masks) != 3 || *masks[1].Counts != backslashes().Counts() {
				t.Errorf("limit %d: %d masks come back", limit, len(masks))
			}
		} else if !errors.Is(err, ErrLimit) {
			t.Errorf("limit %d: %v", limit, err)
		}
		messages, err = EncodeFrame(frame, limit)
		if err == nil {
			encoded++
			checkFrame(t, frame, messages, limit)
		} else if !errors.Is(err, ErrLimit) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if encoded < 600 {
		t.Errorf("only %d limits of 857 were enough", encoded)
	}
}

func splitFrame() *Frame {
	frame := frameOf(4, 11, 12, 13, 14, 15)
	frame.Size = [2]int{100, 100}
	for i, mask := range []Mask{Empty(100, 100), backslashes(), Empty(100, 100), checker(30, 30), Empty(100, 100)} {
		frame.Objects[i].Segmentation = mask.COCO()
	}
	return frame
}

// checkFrame joins the messages of a frame, and holds them to it.
func checkFrame(t *testing.T, frame *Frame, messages []Message, limit int) {
	t.Helper()
	var ids, omitted []int
	for i, message := range messages {
		if len(message.Data) > limit {
			t.Fatalf("%s has %d bytes, and %d are allowed", message.ID, len(message.Data), limit)
		}
		var part Frame
		if err := json.Unmarshal(message.Data, &part); err != nil {
			t.Fatal(err)
		}
		id := "gate/9f3a01c2/0/4/frame"
		if len(messages) > 1 {
			id += fmt.Sprintf("/%d", i)
			if part.Part == nil || *part.Part != [2]int{i, len(messages)} {
				t.Errorf("part %v of message %d of %d", part.Part, i, len(messages))
			}
		} else if part.Part != nil {
			t.Errorf("part %v of one message", *part.Part)
		}
		if message.ID != id || part.Seq != 4 {
			t.Errorf("id %s and seq %d, want %s and 4", message.ID, part.Seq, id)
		}
		for _, object := range part.Objects {
			at := slices.IndexFunc(frame.Objects, func(o Object) bool { return o.ID == object.ID })
			if object.Segmentation != frame.Objects[at].Segmentation {
				t.Errorf("object %d has other counts", object.ID)
			}
			ids = append(ids, object.ID)
		}
		if !slices.Equal(part.Omitted, message.Omitted) || i > 0 && part.Omitted != nil {
			t.Errorf("message %d says %v are omitted, and carries %v", i, message.Omitted, part.Omitted)
		}
		omitted = append(omitted, part.Omitted...)
	}
	all := slices.Concat(ids, omitted)
	if slices.Sort(all); len(all) != len(frame.Objects) || len(slices.Compact(all)) != len(frame.Objects) {
		t.Errorf("limit %d: objects %v and omitted %v are not those of the frame", limit, ids, omitted)
	}
}

func TestAFrameSplitsByObjects(t *testing.T) {
	frame := splitFrame()
	for _, c := range []struct {
		name     string
		limit    int
		messages int
		omitted  []int
	}{
		{"all fit", 1 << 20, 1, nil},
		{"in two", 1400, 2, nil},
		{"one too large for any message", 1000, 2, []int{14}},
		{"two too large", 600, 2, []int{12, 14}},
		{"hardly any room", 390, 3, []int{12, 14}},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages, err := EncodeFrame(frame, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			checkFrame(t, frame, messages, c.limit)
			if len(messages) != c.messages || !slices.Equal(messages[0].Omitted, c.omitted) {
				t.Errorf("%d messages, omitted %v, want %d and %v", len(messages), messages[0].Omitted, c.messages, c.omitted)
			}
			for _, message := range messages {
				if err := check(t, "frame", message.Data); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if _, err := EncodeFrame(frame, 150); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
}

func TestAFrameWithoutObjectsIsAMessage(t *testing.T) {
	messages, err := EncodeFrame(frameOf(4), 0)
	if err != nil || len(messages) != 1 || messages[0].ID != "gate/9f3a01c2/0/4/frame" {
		t.Errorf("messages %v, error %v", messages, err)
	}
	if messages, err := EncodeBatch(Batch{}, 0); err != nil || len(messages) != 0 {
		t.Errorf("a batch of nothing: messages %v, error %v", messages, err)
	}
}

func TestAnEventHasItsNumberInItsID(t *testing.T) {
	event := Event{V: 1, Stream: "gate", Run: "9f3a01c2", N: 5, Time: received, Type: StreamUp}
	message, err := EncodeEvent(event, 1000)
	if err != nil || message.ID != "gate/9f3a01c2/event/5" {
		t.Errorf("id %q, error %v", message.ID, err)
	}
	if _, err := EncodeEvent(event, 20); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
}

func TestPartsComeInAnyOrderAndMoreThanOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	mask := checker(64, 64)
	messages, err := EncodeBatch(batchOf(mask, mask), 600) // two masks, each in many parts
	if err != nil {
		t.Fatal(err)
	}
	messages = append(messages, messages[3])
	random.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
	var assembler Assembler
	joined := 0
	for _, message := range messages {
		var batch Batch
		if err := json.Unmarshal(message.Data, &batch); err != nil {
			t.Fatal(err)
		}
		batch, whole, err := assembler.Add(batch)
		if err != nil {
			t.Fatal(err)
		}
		if whole {
			joined++
			if got := *batch.Masks[0].Counts; got != mask.Counts() || batch.Part != nil || batch.Masks[0].CountsPart != nil {
				t.Errorf("joined to %.60q, part %v", got, batch.Part)
			}
		}
	}
	if joined != 2 {
		t.Errorf("%d masks were joined, not 2", joined)
	}
}
