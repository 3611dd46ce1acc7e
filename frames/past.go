package frames

// Past is the way back through a store as it was at one moment: it holds on to its frames until they are taken, so that a
// slow pass is not overtaken by what the store evicts. For one goroutine at a time.
type Past struct {
	store *Store
	left  []*Frame // in order of Index
}

// Past starts a way back over the newest n frames, or all where n is 0 or more than there are. The caller releases it.
func (s *Store) Past(n int) *Past {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := 0
	if n > 0 {
		first = max(0, len(s.kept)-n)
	}
	p := &Past{store: s, left: make([]*Frame, 0, len(s.kept)-first)}
	for _, f := range s.kept[first:] {
		p.left = append(p.left, f.Retain())
	}
	return p
}

// Len is how many frames are left.
func (p *Past) Len() int { return len(p.left) }

// Take gives the newest frame that is left to the caller. The error wraps ErrGone where none is, and [tensor.ErrExhausted] where
// there is no room to look at it; then it is still left.
func (p *Past) Take() (*Frame, error) {
	if len(p.left) == 0 {
		return nil, ErrGone
	}
	last := len(p.left) - 1
	frame, err := p.store.unpack(p.left[last].Retain())
	if err == nil {
		p.left[last].Release()
		p.left = p.left[:last]
	}
	return frame, err
}

// Release lets go of the frames that are left.
func (p *Past) Release() {
	for _, f := range p.left {
		f.Release()
	}
	p.left = nil
}
