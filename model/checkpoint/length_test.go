package checkpoint

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// The first byte of a safetensors file counts the bytes of its header and may be any character.
func TestSafetensorsWhoseLengthLooksLikeAWebPageAreRead(t *testing.T) {
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	header += strings.Repeat(" ", int('<')-len(header))
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), 0, 0, 128, 63)
	c, err := Read(bytes.NewReader(file), int64(len(file)), "w.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := c.Float32s("w"); err != nil || v[0] != 1 {
		t.Errorf("got %v, %v", v, err)
	}
}
