package rtc

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"maskstream/rle"
)

// wishes are what a viewer asked for in WHEP's address.
type wishes struct {
	locked  bool  // a picture waits for its masks
	batches bool  // one object's masks each, instead of frames of results
	objects []int // only these; nil: all
}

func readWishes(q url.Values, locked bool) (wishes, error) {
	w := wishes{locked: locked}
	switch mode := q.Get("mode"); mode {
	case "":
	case "locked", "low-latency":
		w.locked = mode == "locked"
	default:
		return w, fmt.Errorf("%w: mode %.40q is neither locked nor low-latency", ErrOffer, mode)
	}
	switch format := q.Get("format"); format {
	case "", "frames", "batches":
		w.batches = format == "batches"
	default:
		return w, fmt.Errorf("%w: format %.40q is neither frames nor batches", ErrOffer, format)
	}
	if list := q.Get("objects"); list != "" {
		for text := range strings.SplitSeq(list, ",") {
			id, err := strconv.ParseInt(text, 10, 32)
			if err != nil || id < 0 {
				return w, fmt.Errorf("%w: objects %.40q: ids are numbers from 0 to 2147483647, with commas between", ErrOffer, list)
			}
			w.objects = append(w.objects, int(id))
		}
	}
	return w, nil
}

// wanted is the frame with the objects that are wished for.
func (w wishes) wanted(f *rle.Frame) *rle.Frame {
	if w.objects == nil {
		return f
	}
	part := *f
	part.Objects = make([]rle.Object, 0, len(w.objects))
	for _, o := range f.Objects {
		if slices.Contains(w.objects, o.ID) {
			part.Objects = append(part.Objects, o)
		}
	}
	return &part
}
