package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The limits that keep a hostile pickle cheap. That of an official checkpoint has some 200 KiB and 40,000 instructions.
const (
	maxPickle       = 16 << 20 // bytes
	maxInstructions = 1 << 20
	maxStack        = 1 << 18
)

// The values a pickle can create, besides nil, bool, int64, float64, string and []byte. Lists and dicts are pointers since a
// pickle fills them after it has stored them elsewhere.
type (
	list   struct{ items []any }
	tuple  []any
	dict   struct{ keys, values []any } // later keys win
	mark   struct{}                     // on the stack only
	global struct{ module, name string }
	// storageRef is a persistent id: which storage, of what type, with how many elements.
	storageRef struct {
		dtype dtype
		key   string
		count int64
	}
	// tensorRef is what torch._utils._rebuild_tensor_v2 was called with.
	tensorRef struct {
		storage        storageRef
		offset         int64 // in elements
		shape, strides []int
	}
)

// unpickler runs a pickle of protocols 2 to 5 (Python's pickle module), the instructions alone that plain data needs. It
// calls nothing: the four functions a state dict needs are restated in rebuild, every other name is an error.
type unpickler struct {
	data  []byte
	at    int
	stack []any
	memo  map[uint64]any
}

// unpickle returns the value a pickle describes.
func unpickle(data []byte) (any, error) {
	u := &unpickler{data: data, memo: map[uint64]any{}}
	for range maxInstructions {
		start := u.at
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			return u.pop()
		}
		if err := u.step(op[0]); err != nil {
			return nil, fmt.Errorf("pickle, byte %d: %w", start, err)
		}
		if len(u.stack) > maxStack {
			break
		}
	}
	return nil, fmt.Errorf("%w: its pickle is too large for a table of weights", ErrDamaged)
}

// step runs one instruction. The letters are those of Python's pickletools.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		version, err := u.number(1)
		if err == nil && (version < 2 || version > 5) {
			err = fmt.Errorf("%w: pickle protocol %d; 2 to 5 are read", ErrFormat, version)
		}
		return err
	case 0x95: // FRAME
		_, err := u.take(8)
		return err

	case 'N':
		return u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return u.push(op == 0x88)
	case 'K', 'M': // BININT1, BININT2
		n, err := u.number(int(op-'K')/2 + 1)
		return u.pushed(int64(n), err)
	case 'J': // BININT
		n, err := u.number(4)
		return u.pushed(int64(int32(n)), err)
	case 0x8a: // LONG1
		n, err := u.long()
		return u.pushed(n, err)
	case 'G': // BINFLOAT, the one big-endian number
		b, err := u.take(8)
		if err != nil {
			return err
		}
		return u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case 0x8c, 'X', 0x8d: // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
		b, err := u.counted(width(op))
		return u.pushed(string(b), err)
	case 'C', 'B', 0x8e: // SHORT_BINBYTES, BINBYTES, BINBYTES8
		b, err := u.counted(width(op))
		return u.pushed(b, err)

	case '(':
		return u.push(mark{})
	case '0': // POP
		_, err := u.pop()
		return err
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		n := 0
		if op != ')' {
			n = int(op - 0x84)
		}
		items, err := u.popN(n)
		return u.pushed(tuple(items), err)
	case 't':
		items, err := u.popMark()
		return u.pushed(tuple(items), err)
	case ']':
		return u.push(&list{})
	case 'a', 'e': // APPEND, APPENDS
		return u.extend(op == 'e')
	case '}':
		return u.push(&dict{})
	case 's', 'u': // SETITEM, SETITEMS
		return u.set(op == 'u')

	case 'q', 'r': // BINPUT, LONG_BINPUT
		n, err := u.number(width(op))
		if err != nil {
			return err
		}
		return u.remember(n)
	case 0x94: // MEMOIZE
		return u.remember(uint64(len(u.memo)))
	case 'h', 'j': // BINGET, LONG_BINGET
		n, err := u.number(width(op))
		if err != nil {
			return err
		}
		value, ok := u.memo[n]
		if !ok {
			return fmt.Errorf("%w: value %d was never stored", ErrDamaged, n)
		}
		return u.push(value)

	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return u.global(op == 0x93)
	case 'Q': // BINPERSID
		id, err := u.pop()
		if err != nil {
			return err
		}
		ref, err := persistent(id)
		return u.pushed(ref, err)
	case 'R': // REDUCE
		callee, err := u.popN(2)
		if err != nil {
			return err
		}
		value, err := rebuild(callee[0], callee[1])
		return u.pushed(value, err)
	case 'b': // BUILD: attributes, such as a state dict's _metadata; only dicts may have them, and they are left out
		_, err := u.pop()
		if err != nil {
			return err
		}
		if _, err := top[*dict](u); err != nil {
			return fmt.Errorf("%w: attributes on something else than a dict", ErrUnsafe)
		}
		return nil
	}
	return fmt.Errorf("%w: instruction 0x%02x is not among those that plain weights need; save the state dict alone", ErrUnsafe, op)
}

// width is the number of bytes of the length or key behind an instruction that comes in several widths.
func width(op byte) int {
	switch op {
	case 0x8c, 'C', 'q', 'h':
		return 1
	case 'X', 'B', 'r', 'j':
		return 4
	}
	return 8
}

// extend appends the topmost value, or all down to the mark, to the list below.
func (u *unpickler) extend(many bool) error {
	items, err := u.operands(many, 1)
	if err != nil {
		return err
	}
	to, err := top[*list](u)
	if err == nil {
		to.items = append(to.items, items...)
	}
	return err
}

// set adds the topmost key and value, or all down to the mark, to the dict below.
func (u *unpickler) set(many bool) error {
	items, err := u.operands(many, 2)
	if err != nil {
		return err
	}
	to, err := top[*dict](u)
	if err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return fmt.Errorf("%w: a key without a value", ErrDamaged)
	}
	for i := 0; i < len(items); i += 2 {
		to.keys, to.values = append(to.keys, items[i]), append(to.values, items[i+1])
	}
	return nil
}

// global pushes the name of a class or function. Whether it may be used is decided where it is used, but a name that is not
// on the list ends the reading here, so that the message names it.
func (u *unpickler) global(onStack bool) error {
	var g global
	if onStack {
		names, err := u.popN(2)
		if err != nil {
			return err
		}
		module, ok1 := names[0].(string)
		name, ok2 := names[1].(string)
		if !ok1 || !ok2 {
			return fmt.Errorf("%w: a global's name is no string", ErrDamaged)
		}
		g = global{module, name}
	} else {
		module, err := u.line()
		if err != nil {
			return err
		}
		name, err := u.line()
		if err != nil {
			return err
		}
		g = global{module, name}
	}
	if !g.allowed() {
		return fmt.Errorf("%w: it asks for %q, which is no weight; in Python save model.state_dict() alone", ErrUnsafe, g.module+"."+g.name)
	}
	return u.push(g)
}
