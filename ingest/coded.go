package ingest

import (
	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// codedPictures remembers the access units of an H.264 source until their pictures come out of the decoder, by their times. A nil
// one remembers nothing.
type codedPictures struct {
	lengthSize int    // bytes before each NAL unit, as MP4 has them; 0 where the stream is in Annex B form
	sets       []byte // the last parameter sets, in Annex B form

	stamps  [32]int64
	units   [32]*frames.Coded
	n       int
	newest  int64
	ordered bool // so far: B-frames may turn up late
}

// newCodedPictures reads the stream's header, in either form.
func newCodedPictures(header []byte) *codedPictures {
	c := &codedPictures{ordered: true, newest: -1 << 62}
	if len(header) > 6 && header[0] == 1 { // avcC
		c.lengthSize = int(header[4]&3) + 1
		for _, set := range avcSets(header) {
			c.sets = appendNAL(c.sets, set)
		}
		return c
	}
	for _, nal := range splitNALs(header, 0) {
		c.sets = appendNAL(c.sets, nal)
	}
	return c
}

// add borrows the packet.
func (c *codedPictures) add(p *astiav.Packet) {
	if c == nil {
		return
	}
	const untimed = -1 << 63
	switch at := p.Pts(); {
	case at == untimed || !c.ordered:
		return
	case at <= c.newest: // shown before what came before it
		c.ordered = false
		c.units = [32]*frames.Coded{}
		return
	default:
		c.newest = at
		c.stamps[c.n%len(c.stamps)], c.units[c.n%len(c.units)] = at, c.unit(p.Data())
		c.n++
	}
}

// take is the access unit of a picture, nil where it is not known.
func (c *codedPictures) take(at int64) *frames.Coded {
	if c == nil {
		return nil
	}
	for i := range min(c.n, len(c.stamps)) {
		if k := (c.n - 1 - i) % len(c.stamps); c.stamps[k] == at {
			unit := c.units[k]
			c.units[k] = nil
			return unit
		}
	}
	return nil
}

// unit brings a packet into Annex B form, with the parameter sets before a key picture.
func (c *codedPictures) unit(packet []byte) *frames.Coded {
	nals := splitNALs(packet, c.lengthSize)
	u := &frames.Coded{Codec: frames.H264}
	var own []byte // sets in the packet
	for _, nal := range nals {
		switch nalType(nal) {
		case nalSPS, nalPPS:
			own = appendNAL(own, nal)
		case nalIDR:
			u.Key = true
		}
	}
	u.Data = make([]byte, 0, len(packet)+len(c.sets)+16)
	switch {
	case own != nil:
		c.sets = own
	case u.Key:
		u.Data = append(u.Data, c.sets...)
	}
	for _, nal := range nals {
		u.Data = appendNAL(u.Data, nal)
	}
	return u
}
