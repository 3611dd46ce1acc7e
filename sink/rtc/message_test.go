package rtc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"testing"

	"maskstream/rle"
)

func TestChunksConcatenateToTheirMessage(t *testing.T) {
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 200_000} {
		payload := make([]byte, size)
		for i := range payload {
			payload[i] = byte(i * 7)
		}
		var whole []byte
		all := chunks(0xdeadbeef, payload)
		for i, c := range all {
			if len(c) > 12+chunkBytes {
				t.Errorf("%d bytes: chunk %d has %d", size, i, len(c))
			}
			for k, want := range []uint32{0xdeadbeef, uint32(i), uint32(len(all))} {
				if got := binary.LittleEndian.Uint32(c[4*k:]); got != want {
					t.Errorf("%d bytes: word %d of chunk %d is %d, want %d", size, k, i, got, want)
				}
			}
			whole = append(whole, c[12:]...)
		}
		if !bytes.Equal(whole, payload) {
			t.Errorf("%d bytes do not come back", size)
		}
	}
}

func TestViewerGetsWhatItWishesFor(t *testing.T) {
	object := func(id int) rle.Object {
		m := rle.Empty(4, 4)
		return rle.Object{ID: id, State: rle.Occluded, Segmentation: m.COCO()}
	}
	m := &message{frame: &rle.Frame{V: 1, Stream: "gate", Seq: 7, RTP: 36000, Size: [2]int{4, 4}, Objects: []rle.Object{object(1), object(2), object(3)}}}
	for query, ids := range map[string][]int{"": {1, 2, 3}, "objects=2,3": {2, 3}, "objects=9": {}, "format=batches": {1, 2, 3}, "format=batches&objects=3": {3}} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		w, err := readWishes(q, true)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := m.payload(w)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		if w.batches {
			for line := range bytes.SplitSeq(payload, []byte("\n")) {
				var b rle.Batch
				if err := json.Unmarshal(line, &b); err != nil {
					t.Fatalf("%s: %v: %s", query, err, line)
				}
				got = append(got, b.Object)
			}
		} else {
			var f rle.Frame
			if err := json.Unmarshal(payload, &f); err != nil || f.RTP != 36000 {
				t.Fatalf("%s: %v: %s", query, err, payload)
			}
			for _, o := range f.Objects {
				got = append(got, o.ID)
			}
		}
		if len(got) != len(ids) {
			t.Errorf("%s: objects %v, want %v", query, got, ids)
			continue
		}
		for i := range ids {
			if got[i] != ids[i] {
				t.Errorf("%s: objects %v, want %v", query, got, ids)
			}
		}
	}
	for _, query := range []string{"mode=fast", "format=xml", "objects=a.>", "objects=1,,2", "objects=-1", "objects=2147483648"} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readWishes(q, true); err == nil {
			t.Errorf("%s is taken", query)
		}
	}
}
