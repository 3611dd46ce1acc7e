package frames

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"maskstream/tensor"
)

// ErrGone says that a store does not keep a frame: it was evicted, left out, or has not come yet.
var ErrGone = errors.New("frames: not kept")

// Limits bound a [Store]; 0 is no limit. The newest frame is kept whatever they say.
type Limits struct {
	Frames int   // live: the stream's history; a scripted session: 0
	Bytes  int64 // of pixels and kept pictures
	// Pictures keeps the decoded planes as well. Without it a stored frame's Picture has its size, rotation and Meta but no
	// planes: enough for the tracker and the results, and it does not hold on to the decoder's buffers.
	Pictures bool
	// Compact keeps pixels as bytes and normalises them again when a frame is asked for: a quarter of the memory for less time
	// than the network needs for a thousandth of a frame (BenchmarkKeptFrames). Pixels that were resampled come back rounded
	// to 1/255, so masks of a kept frame are not bit for bit those of the live one (docs/time-travel.md has the measure).
	// The pixels have to be at home on the host.
	Compact bool
}

// Store keeps the newest frames of a stream, to be found by their Index: for prompts in the past, catching up and reverse
// passes. It owns a reference of each. Which pool it is given decides where past frames live: that is
// offload_video_to_cpu. Safe for concurrent use.
type Store struct {
	limits        Limits
	pool          *tensor.Pool
	normalisation normalisation

	mu    sync.Mutex
	kept  []*Frame // in order of Index; where they are compact, their pixels are uint8
	bytes int64
}

// NewStore returns an empty store whose pixels live in pool.
func NewStore(limits Limits, pool *tensor.Pool) *Store {
	return &Store{limits: limits, pool: pool, normalisation: newNormalisation()}
}

// Add borrows f and keeps it, evicting the oldest frames beyond the limits. Pixels at home in another pool are copied into
// the store's; the error of a spent pool wraps [tensor.ErrExhausted], and f is then not kept. Indices must grow.
func (s *Store) Add(f *Frame) error {
	pixels, err := s.pack(f.Pixels)
	if err != nil {
		return fmt.Errorf("frames: keeping frame %d to look back: %w", f.Index, err)
	}
	picture := f.Picture.withoutPlanes()
	if s.limits.Pictures {
		picture = f.Picture.Retain()
	}
	own := NewFrame(pixels, picture)
	own.Index = f.Index

	s.mu.Lock()
	if n := len(s.kept); n > 0 && s.kept[n-1].Index >= f.Index {
		newest := s.kept[n-1].Index
		s.mu.Unlock()
		own.Release()
		return fmt.Errorf("frames: frame %d added after frame %d", f.Index, newest)
	}
	s.kept = append(s.kept, own)
	s.bytes += own.bytes()
	evicted := s.evict()
	s.mu.Unlock()
	for _, old := range evicted {
		old.Release()
	}
	return nil
}

func (s *Store) pack(pixels *tensor.Tensor) (*tensor.Tensor, error) {
	if s.limits.Compact {
		return s.normalisation.toBytes(pixels, s.pool)
	}
	return pixels.To(s.pool)
}

// unpack takes ownership of a kept frame and returns it as the network takes it.
func (s *Store) unpack(kept *Frame) (*Frame, error) {
	if !s.limits.Compact {
		return kept, nil
	}
	defer kept.Release()
	pixels, err := s.normalisation.fromBytes(kept.Pixels, s.pool)
	if err != nil {
		return nil, fmt.Errorf("frames: looking back at frame %d: %w", kept.Index, err)
	}
	f := NewFrame(pixels, kept.Picture.Retain())
	f.Index = kept.Index
	return f, nil
}

func (s *Store) evict() []*Frame {
	n, bytes := 0, s.bytes
	for ; n < len(s.kept)-1; n++ {
		tooMany := s.limits.Frames > 0 && len(s.kept)-n > s.limits.Frames
		if !tooMany && (s.limits.Bytes <= 0 || bytes <= s.limits.Bytes) {
			break
		}
		bytes -= s.kept[n].bytes()
	}
	evicted := slices.Clone(s.kept[:n])
	s.kept = slices.Delete(s.kept, 0, n)
	s.bytes = bytes
	return evicted
}

// DropOldest lets go of the oldest frame that is kept, but never of the newest.
func (s *Store) DropOldest() {
	s.mu.Lock()
	if len(s.kept) < 2 {
		s.mu.Unlock()
		return
	}
	oldest := s.kept[0]
	s.kept = slices.Delete(s.kept, 0, 1)
	s.bytes -= oldest.bytes()
	s.mu.Unlock()
	oldest.Release()
}

// At returns the frame with that index, with a reference for the caller. The error wraps ErrGone where it was never added or is
// gone, and [tensor.ErrExhausted] where there is no room to look at it.
func (s *Store) At(index int) (*Frame, error) {
	f, err := s.From(index)
	if err == nil && f.Index != index {
		f.Release()
		return nil, fmt.Errorf("frame %d: %w", index, ErrGone)
	}
	return f, err
}

// From returns the oldest frame that is kept from an index on, with a reference for the caller. Errors are At's.
func (s *Store) From(index int) (*Frame, error) {
	s.mu.Lock()
	i, _ := slices.BinarySearchFunc(s.kept, index, func(f *Frame, index int) int { return f.Index - index })
	if i == len(s.kept) {
		s.mu.Unlock()
		return nil, fmt.Errorf("frame %d: %w", index, ErrGone)
	}
	kept := s.kept[i].Retain()
	s.mu.Unlock()
	return s.unpack(kept)
}

// Picture returns the frame of a picture, by its number within an epoch, with a reference for the caller. Errors are At's.
func (s *Store) Picture(epoch, number int) (*Frame, error) {
	s.mu.Lock()
	i, ok := s.search(epoch, number)
	if !ok {
		s.mu.Unlock()
		return nil, fmt.Errorf("frame %d of epoch %d: %w", number, epoch, ErrGone)
	}
	kept := s.kept[i].Retain()
	s.mu.Unlock()
	return s.unpack(kept)
}

// Near lists the numbers of the kept frames of an epoch before and after a picture that is not kept: at most one each.
func (s *Store) Near(epoch, number int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var near []int
	i, ok := s.search(epoch, number)
	if ok {
		return []int{number}
	}
	for _, at := range []int{i - 1, i} {
		if at >= 0 && at < len(s.kept) && s.kept[at].Picture.Meta.Epoch == epoch {
			near = append(near, s.kept[at].Picture.Meta.Frame)
		}
	}
	return near
}

// search finds a picture's place in kept: epochs grow, and numbers grow within them.
func (s *Store) search(epoch, number int) (int, bool) {
	return slices.BinarySearchFunc(s.kept, Meta{Epoch: epoch, Frame: number}, func(f *Frame, at Meta) int {
		meta := f.Picture.Meta
		return cmp.Or(cmp.Compare(meta.Epoch, at.Epoch), cmp.Compare(meta.Frame, at.Frame))
	})
}

// Oldest is the index of the oldest frame; false where the store is empty.
func (s *Store) Oldest() (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return 0, false
	}
	return s.kept[0].Index, true
}

// Newest is the index of the newest frame; false where the store is empty.
func (s *Store) Newest() (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return 0, false
	}
	return s.kept[len(s.kept)-1].Index, true
}

// Len is the number of frames kept and what they take.
func (s *Store) Len() (frames int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept), s.bytes
}

// Clear releases all frames; indices may start anew. A store ends with it.
func (s *Store) Clear() {
	s.mu.Lock()
	all := s.kept
	s.kept, s.bytes = nil, 0
	s.mu.Unlock()
	for _, f := range all {
		f.Release()
	}
}

// bytes is what the frame holds on to.
func (f *Frame) bytes() int64 {
	n := int64(f.Pixels.Len() * f.Pixels.DType().Size())
	for _, plane := range f.Picture.Planes {
		n += int64(len(plane))
	}
	return n
}

// withoutPlanes is a picture of the same description that holds no pixels.
func (p *Picture) withoutPlanes() *Picture {
	bare := &Picture{Width: p.Width, Height: p.Height, Format: p.Format, Matrix: p.Matrix, FullRange: p.FullRange, Rotation: p.Rotation, Meta: p.Meta}
	return bare.Own(nil)
}
