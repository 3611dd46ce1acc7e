package rtc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"maskstream/rle"
)

// chunkBytes is the most payload of one message on the channel.
const chunkBytes = 48 << 10

// message is one frame of results on its way to the viewers, who share it.
type message struct {
	frame *rle.Frame

	once sync.Once
	text []byte // of the whole frame
	err  error
}

// payload is what a viewer gets: the frame of results, or its batches as lines of JSON. It is nil where no batch is wanted.
func (m *message) payload(w wishes) ([]byte, error) {
	if !w.batches && w.objects == nil {
		m.once.Do(func() { m.text, m.err = json.Marshal(m.frame) })
		return m.text, m.err
	}
	frame := w.wanted(m.frame)
	if !w.batches {
		return json.Marshal(frame)
	}
	var lines [][]byte
	for _, batch := range new(rle.Batcher).Add(frame, time.Time{}) {
		line, err := json.Marshal(batch)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return bytes.Join(lines, []byte("\n")), nil
}

// chunks cuts a payload into messages of the channel, each with its header: three little-endian words of 32 bits, the frame's id, the
// chunk's index, and the number of chunks.
func chunks(id uint32, payload []byte) [][]byte {
	n := max(1, (len(payload)+chunkBytes-1)/chunkBytes)
	all := make([][]byte, n)
	for i := range all {
		part := payload[i*chunkBytes : min((i+1)*chunkBytes, len(payload))]
		c := make([]byte, 0, 12+len(part))
		c = binary.LittleEndian.AppendUint32(c, id)
		c = binary.LittleEndian.AppendUint32(c, uint32(i))
		c = binary.LittleEndian.AppendUint32(c, uint32(n))
		all[i] = append(c, part...)
	}
	return all
}
