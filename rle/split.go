package rle

import "fmt"

// EncodeBatch encodes b in messages of at most limit bytes each (0: no limit; the caller has taken its headers off). A batch too
// large is split between masks. A mask too large for a message of its own goes in parts, each with counts_part in place of
// counts and part [i,n], which [Assembler] joins; the rest of the mask's fields is in every part. A batch without masks is no
// message. An error wraps [ErrLimit] where the limit does not even hold what surrounds the counts.
func EncodeBatch(b Batch, limit int) ([]Message, error) {
	if len(b.Masks) == 0 {
		return nil, nil
	}
	if message, err := encodeBatch(b); err != nil {
		return nil, err
	} else if fits(len(message.Data), limit) {
		return []Message{message}, nil
	}
	empty := b
	empty.Masks = []BatchMask{}
	frame, err := Marshal(empty)
	if err != nil {
		return nil, fmt.Errorf("batch of %s: %w", b.id(), err)
	}
	var messages []Message
	size, from := len(frame), 0 // of the message that masks[from:i] make
	send := func(to int) error {
		if to == from {
			return nil
		}
		group := b
		group.Masks = b.Masks[from:to]
		message, err := encodeBatch(group)
		messages = append(messages, message)
		from, size = to, len(frame)
		return err
	}
	for i := range b.Masks {
		data, err := Marshal(b.Masks[i])
		if err != nil {
			return nil, fmt.Errorf("batch of %s: mask %d: %w", b.id(), i, err)
		}
		comma := min(i-from, 1)
		if !fits(size+comma+len(data), limit) {
			if err := send(i); err != nil {
				return nil, err
			}
			comma = 0
		}
		if fits(size+comma+len(data), limit) {
			size += comma + len(data)
			continue
		}
		single := b
		single.Masks = b.Masks[i : i+1]
		parts, err := encodeParts(single, limit)
		if err != nil {
			return nil, err
		}
		messages = append(messages, parts...)
		from = i + 1
	}
	if err := send(len(b.Masks)); err != nil {
		return nil, err
	}
	return messages, nil
}

// id is the message's id, but for the part.
func (b Batch) id() string {
	return fmt.Sprintf("%s/%s/%d/%d/%d", b.Stream, b.Run, b.Epoch, b.Masks[0].Seq, b.Object)
}

func encodeBatch(b Batch) (Message, error) {
	data, err := Marshal(b)
	if err != nil {
		return Message{}, fmt.Errorf("batch of %s: %w", b.id(), err)
	}
	id := b.id()
	if b.Part != nil {
		id = fmt.Sprintf("%s/%d", id, b.Part[0])
	}
	return Message{ID: id, Data: data}, nil
}

// encodeParts encodes a batch of one mask as several messages.
func encodeParts(b Batch, limit int) ([]Message, error) {
	mask := b.Masks[0]
	if mask.Counts == nil {
		return nil, fmt.Errorf("batch of %s: %w: %d bytes cannot hold a mask without counts", b.id(), ErrLimit, limit)
	}
	counts, piece := *mask.Counts, ""
	mask.Counts, mask.CountsPart = nil, &piece
	b.Masks = []BatchMask{mask}
	b.Part = &[2]int{len(counts), len(counts)} // no number of parts has more digits
	largest, err := encodeBatch(b)
	if err != nil {
		return nil, err
	}
	room := limit - len(largest.Data)
	if room < 2 { // one character, escaped
		return nil, fmt.Errorf("batch of %s: %w: %d bytes are allowed, and a part takes %d besides its counts", b.id(), ErrLimit, limit, len(largest.Data))
	}
	pieces := cut(counts, room)
	messages := make([]Message, len(pieces))
	for i := range pieces {
		piece = pieces[i]
		b.Part = &[2]int{i, len(pieces)}
		if messages[i], err = encodeBatch(b); err != nil {
			return nil, err
		}
		if len(messages[i].Data) > limit {
			return nil, fmt.Errorf("batch of %s: %w: its counts are no COCO string", b.id(), ErrLimit)
		}
	}
	return messages, nil
}

// cut divides counts into pieces of at most room bytes as JSON, where a backslash takes two.
func cut(counts string, room int) []string {
	var pieces []string
	from, size := 0, 0
	for i := range len(counts) {
		width := 1
		if counts[i] == '\\' {
			width = 2
		}
		if size+width > room {
			pieces = append(pieces, counts[from:i])
			from, size = i, 0
		}
		size += width
	}
	return append(pieces, counts[from:])
}

// EncodeFrame encodes f in messages of at most limit bytes each (0: no limit; the caller has taken its headers off). A frame too
// large is split by objects into messages with the same seq and part [i,n], each a frame of results by itself.
//
// An object whose mask is too large for a message of its own cannot be in a frame of results under this limit: a mask cut in
// two is none that pycocotools decodes, and a smaller or empty one would be untrue. It is left out, and its id stands in the
// first message's "omitted", so that nobody takes it for removed; its mask is on the object's own subject, where parts join.
// The messages are then one or more all the same, and say in Omitted what a sink may want to count. An error wraps [ErrLimit]
// where the limit does not even hold what surrounds the objects.
func EncodeFrame(f *Frame, limit int) ([]Message, error) {
	whole, err := encodeFrame(*f)
	if err != nil {
		return nil, err
	}
	if fits(len(whole.Data), limit) {
		return []Message{whole}, nil
	}
	empty := *f
	empty.Objects, empty.Part = nil, &[2]int{len(f.Objects), len(f.Objects)} // no number of parts has more digits
	frame, err := encodeFrame(empty)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(f.Objects))
	for i := range f.Objects {
		data, err := Marshal(f.Objects[i])
		if err != nil {
			return nil, fmt.Errorf("frame %s: object %d: %w", f.id(), f.Objects[i].ID, err)
		}
		if sizes[i] = len(data); !fits(len(frame.Data)+sizes[i], limit) {
			empty.Omitted = append(empty.Omitted, f.Objects[i].ID)
		}
	}
	first, err := encodeFrame(empty)
	if err != nil {
		return nil, err
	}
	if !fits(len(first.Data), limit) {
		return nil, fmt.Errorf("frame %s: %w: %d bytes are allowed, and it takes %d besides its objects", f.id(), ErrLimit, limit, len(first.Data))
	}
	groups := make([][]Object, 1)
	size := len(first.Data)
	for i, object := range f.Objects {
		if !fits(len(frame.Data)+sizes[i], limit) {
			continue // omitted
		}
		last := len(groups) - 1
		needs := sizes[i] + min(len(groups[last]), 1) // a comma
		if !fits(size+needs, limit) {
			groups, last = append(groups, nil), last+1
			size, needs = len(frame.Data), sizes[i]
		}
		groups[last] = append(groups[last], object)
		size += needs
	}
	messages := make([]Message, len(groups))
	for i, objects := range groups {
		part := *f
		part.Objects, part.Omitted, part.Part = objects, nil, nil
		if i == 0 {
			part.Omitted = empty.Omitted
		}
		if len(groups) > 1 {
			part.Part = &[2]int{i, len(groups)}
		}
		if messages[i], err = encodeFrame(part); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// id is the message's id, but for the part.
func (f *Frame) id() string {
	return fmt.Sprintf("%s/%s/%d/%d/frame", f.Stream, f.Run, f.Epoch, f.Seq)
}

func encodeFrame(f Frame) (Message, error) {
	data, err := f.MarshalJSON()
	if err != nil {
		return Message{}, fmt.Errorf("frame %s: %w", f.id(), err)
	}
	id := f.id()
	if f.Part != nil {
		id = fmt.Sprintf("%s/%d", id, f.Part[0])
	}
	return Message{ID: id, Data: data, Omitted: f.Omitted}, nil
}
