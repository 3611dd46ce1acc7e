package sink

import (
	"maskstream/frames"
	"maskstream/rle"
)

// Item is one thing to publish: a result with its picture, or one of the others. What it points to is immutable.
type Item struct {
	Result  *rle.Frame
	Picture *frames.Picture // the one the result belongs to, where somebody may draw it; the item owns one reference
	Removed *rle.Removed    // a session's line about a removed object
	Event   *rle.Event
	Status  *rle.Status
}

// Retain adds a reference to the picture and returns the item.
func (i Item) Retain() Item {
	if i.Picture != nil {
		i.Picture.Retain()
	}
	return i
}

// Release gives one reference to the picture back.
func (i Item) Release() { i.Picture.Release() }

// Kinds is a set of things that a sink wants.
type Kinds uint8

const (
	Results  Kinds = 1 << iota
	Pictures       // keep the picture with its result; without it no queue holds pictures back from their decoder
	Removals
	Events
	Statuses
)

// wanted is the part of an item that is in the set; ok is false where nothing is. It borrows.
func (k Kinds) wanted(i Item) (part Item, ok bool) {
	if k&Results != 0 {
		part.Result = i.Result
	}
	if k&Pictures != 0 && part.Result != nil {
		part.Picture = i.Picture
	}
	if k&Removals != 0 {
		part.Removed = i.Removed
	}
	if k&Events != 0 {
		part.Event = i.Event
	}
	if k&Statuses != 0 {
		part.Status = i.Status
	}
	return part, part != Item{}
}
