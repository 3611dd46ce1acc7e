package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

func (u *unpickler) push(value any) error {
	u.stack = append(u.stack, value)
	return nil
}

// pushed pushes the value unless making it failed.
func (u *unpickler) pushed(value any, err error) error {
	if err != nil {
		return err
	}
	return u.push(value)
}

func (u *unpickler) pop() (any, error) {
	items, err := u.popN(1)
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// popN returns the n topmost values, the topmost last. A mark is no value.
func (u *unpickler) popN(n int) ([]any, error) {
	base := len(u.stack) - n
	if base < 0 || slices.ContainsFunc(u.stack[base:], isMark) {
		return nil, fmt.Errorf("%w: a value is missing", ErrDamaged)
	}
	items := slices.Clone(u.stack[base:])
	u.stack = u.stack[:base]
	return items, nil
}

// popMark returns the values above the topmost mark and takes the mark away.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if isMark(u.stack[i]) {
			items := slices.Clone(u.stack[i+1:])
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, fmt.Errorf("%w: a mark is missing", ErrDamaged)
}

// operands returns n values, or all above the mark.
func (u *unpickler) operands(many bool, n int) ([]any, error) {
	if many {
		return u.popMark()
	}
	return u.popN(n)
}

func isMark(value any) bool { _, ok := value.(mark); return ok }

// top returns the topmost value, which stays, as a T.
func top[T any](u *unpickler) (T, error) {
	var zero T
	if len(u.stack) > 0 {
		if value, ok := u.stack[len(u.stack)-1].(T); ok {
			return value, nil
		}
	}
	return zero, fmt.Errorf("%w: a container is missing", ErrDamaged)
}

func (u *unpickler) remember(key uint64) error {
	if len(u.stack) == 0 || isMark(u.stack[len(u.stack)-1]) {
		return fmt.Errorf("%w: nothing to store", ErrDamaged)
	}
	u.memo[key] = u.stack[len(u.stack)-1]
	return nil
}

// take returns the next n bytes of the pickle, not copied.
func (u *unpickler) take(n int) ([]byte, error) {
	if n > len(u.data)-u.at {
		return nil, fmt.Errorf("%w: its pickle ends early", ErrDamaged)
	}
	u.at += n
	return u.data[u.at-n : u.at], nil
}

// number reads a little-endian number of up to eight bytes.
func (u *unpickler) number(bytes int) (uint64, error) {
	var padded [8]byte
	b, err := u.take(bytes)
	copy(padded[:], b)
	return binary.LittleEndian.Uint64(padded[:]), err
}

// counted reads a length and as many bytes.
func (u *unpickler) counted(lengthBytes int) ([]byte, error) {
	n, err := u.number(lengthBytes)
	if err != nil {
		return nil, err
	}
	return u.take(int(min(n, maxPickle+1))) // more than there is, whatever the length says
}

// long reads a two's complement number of up to eight bytes behind its length.
func (u *unpickler) long() (int64, error) {
	b, err := u.counted(1)
	if err != nil {
		return 0, err
	}
	if len(b) > 8 {
		return 0, fmt.Errorf("%w: a number of %d bytes", ErrUnsafe, len(b))
	}
	var n int64
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	shift := 64 - 8*len(b)
	return n << shift >> shift, nil // the sign is the topmost bit that was given
}

// line reads up to a line feed.
func (u *unpickler) line() (string, error) {
	n := bytes.IndexByte(u.data[u.at:], '\n')
	if n < 0 {
		return "", fmt.Errorf("%w: its pickle ends early", ErrDamaged)
	}
	b, err := u.take(n + 1)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}
