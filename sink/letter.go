package sink

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"maskstream/rle"
)

// letter is a message that waits: whole, whatever its size.
type letter struct {
	subject, id string
	data        []byte
}

// pack is the letter as bytes: subject and id with their lengths before them, then the data.
func (l letter) pack() []byte {
	packed := make([]byte, 0, len(l.subject)+len(l.id)+len(l.data)+2*binary.MaxVarintLen32)
	for _, text := range []string{l.subject, l.id} {
		packed = append(binary.AppendUvarint(packed, uint64(len(text))), text...)
	}
	return append(packed, l.data...)
}

func unpack(packed []byte) (letter, error) {
	var texts [2]string
	for i := range texts {
		length, n := binary.Uvarint(packed)
		if n <= 0 || length > uint64(len(packed)-n) {
			return letter{}, errors.New("letter without subject and id")
		}
		texts[i], packed = string(packed[n:n+int(length)]), packed[n+int(length):]
	}
	return letter{subject: texts[0], id: texts[1], data: packed}, nil
}

// split makes messages of at most room bytes of data each.
func (l letter) split(room int) ([]rle.Message, error) {
	if len(l.data) <= room {
		return []rle.Message{{ID: l.id, Data: l.data}}, nil
	}
	kinds := strings.Split(l.subject, ".")
	switch {
	case len(kinds) > 2 && kinds[len(kinds)-2] == "object":
		var batch rle.Batch
		if err := json.Unmarshal(l.data, &batch); err != nil {
			return nil, fmt.Errorf("batch in the spool: %w", err)
		}
		return rle.EncodeBatch(batch, room)
	case kinds[len(kinds)-1] == "frame":
		var frame rle.Frame
		if err := json.Unmarshal(l.data, &frame); err != nil {
			return nil, fmt.Errorf("frame in the spool: %w", err)
		}
		return rle.EncodeFrame(&frame, room)
	}
	return nil, fmt.Errorf("%s, %d bytes: %w", l.subject, len(l.data), errTooLarge)
}
