package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"
)

// maxHeader bounds the JSON header, of which a large model has 120 kB. The format allows 100 MB, which would take a gigabyte to
// read.
const maxHeader = 8 << 20

// readSafetensors reads the header of the safetensors format: eight bytes of length, little-endian, a JSON object from names
// to type, shape and byte range, then the bytes. The ranges must lie one after the other and fill the file, as the format
// demands: a file that was cut off or glued together is found out before a tensor is read.
func readSafetensors(r io.ReaderAt, size int64) (map[string]entry, error) {
	var prefix [8]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader || int64(length) > size-8 {
		return nil, fmt.Errorf("%w: its header is said to have %d bytes, the file has %d; download it again", ErrDamaged, length, size)
	}
	header := section{r: r, start: 8, n: int64(length)}
	data, err := header.read(0, header.n)
	if err != nil {
		return nil, err
	}
	body := section{r: r, start: 8 + header.n, n: size - 8 - header.n}
	tensors, err := parseHeader(data, body)
	if err != nil {
		return nil, err
	}
	return tensors, fills(tensors, body.n)
}

// parseHeader goes through the object key by key, since a plain decode would let the second of two equal names win.
func parseHeader(data []byte, body section) (map[string]entry, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("%w: its header is no JSON object", ErrDamaged)
	}
	tensors := map[string]entry{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: header: %w", ErrDamaged, err)
		}
		name := token.(string) // the decoder lets no other key pass
		if name == "__metadata__" {
			var metadata map[string]string
			if err := decoder.Decode(&metadata); err != nil {
				return nil, fmt.Errorf("%w: header: __metadata__: %w", ErrDamaged, err)
			}
			continue
		}
		if _, twice := tensors[name]; twice {
			return nil, fmt.Errorf("%w: tensor %q: named twice", ErrDamaged, name)
		}
		var described struct {
			DType   dtype   `json:"dtype"`
			Shape   []int   `json:"shape"`
			Offsets []int64 `json:"data_offsets"`
		}
		if err := decoder.Decode(&described); err != nil {
			return nil, fmt.Errorf("%w: tensor %q: %w", ErrDamaged, name, err)
		}
		t, err := place(described.DType, described.Shape, described.Offsets, body)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors[name] = t
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrDamaged, err)
	}
	return tensors, nil
}

// place makes the entry of one tensor from its description in the header.
func place(d dtype, shape []int, offsets []int64, body section) (entry, error) {
	if d.size() == 0 {
		return entry{}, fmt.Errorf("%w: %q", ErrDType, string(d))
	}
	if len(offsets) != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > body.n {
		return entry{}, fmt.Errorf("%w: bytes %v of the %d there are; download it again", ErrDamaged, offsets, body.n)
	}
	count, err := elements(shape)
	if err != nil {
		return entry{}, err
	}
	n := offsets[1] - offsets[0]
	if count > math.MaxInt64/8 || count*int64(d.size()) != n {
		return entry{}, fmt.Errorf("%w: shape %v of %s does not fill its %d bytes", ErrDamaged, shape, d, n)
	}
	return entry{dtype: d, shape: shape, storage: section{r: body.r, start: body.start + offsets[0], n: n}}, nil
}

// fills tells whether the tensors lie one after the other without gap or overlap and end where the file ends.
func fills(tensors map[string]entry, size int64) error {
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	at := func(i int) section { return tensors[names[i]].storage.(section) }
	sort.Slice(names, func(i, j int) bool {
		a, b := at(i), at(j)
		return a.start < b.start || a.start == b.start && (a.n < b.n || a.n == b.n && names[i] < names[j])
	})
	next := int64(0)
	for i, name := range names {
		if i == 0 {
			next = at(0).start
		}
		if at(i).start != next {
			return fmt.Errorf("%w: tensor %q: it overlaps its neighbour or leaves a gap", ErrDamaged, name)
		}
		next += at(i).n
		size -= at(i).n
	}
	if size != 0 {
		return fmt.Errorf("%w: %d bytes belong to no tensor", ErrDamaged, size)
	}
	return nil
}
