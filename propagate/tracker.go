package propagate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

var (
	// ErrNoObjects says that there is nothing to track.
	ErrNoObjects = errors.New("no object has been prompted yet")
	// ErrUnprompted is wrapped with the id of an object whose prompts have all been cleared.
	ErrUnprompted = errors.New("object has no prompted frame left")
	// ErrUnknownObject is wrapped with the id.
	ErrUnknownObject = errors.New("no such object")
)

// Options are the reference's, under its names. The zero value is the reference's class default but for FillHoleArea.
type Options struct {
	FillHoleArea          int  // fill_hole_area: background of at most so many low-resolution cells is filled; 0 is off
	CorrectAsConditioning bool // add_all_frames_to_correct_as_cond
	ClearAroundInput      bool // clear_non_cond_mem_around_input
	MaxConditioning       *int // max_cond_frames_in_attn in place of the model's own

	Retention memory.Retention
	State     *tensor.Pool // home of memories and logits (offload_state_to_cpu); nil leaves them where the network makes them
	Trace     func(Trace)  // called for every object of every step that attends to memory; nil for none
}

// Policy is what a frame attends to with a model of the given configuration.
func (o Options) Policy(c model.Config) memory.Policy {
	policy := memory.PolicyOf(c)
	if o.MaxConditioning != nil {
		policy.MaxConditioning = *o.MaxConditioning
	}
	return policy
}

// Tracker holds the objects of one stream or session. It belongs to one goroutine.
type Tracker struct {
	network model.Network
	options Options
	policy  memory.Policy

	objects []*object // in the order of their first prompt
	scratch *tensor.Pool

	cached   *model.Features // of the last frame that was encoded
	cachedOf *frames.Frame   // retained, so that its address stays its own
}

// object is one tracked object.
type object struct {
	id      int
	bank    *memory.Bank
	pending map[int]pending          // prompted, not yet part of the memory
	points  map[int][]model.Point    // prompts by frame
	tracked map[int]memory.Direction // frames a pass went over
}

type pending struct {
	kind  memory.Kind
	entry *memory.Entry
}

// New returns a tracker without objects. It borrows the network.
func New(network model.Network, options Options) *Tracker {
	return &Tracker{network: network, options: options, policy: options.Policy(network.Config()), scratch: tensor.NewPool("prompts", tensor.Host(), 0)}
}

// Objects lists the ids in the order of their first prompt.
func (t *Tracker) Objects() []int {
	ids := make([]int, len(t.objects))
	for i, o := range t.objects {
		ids[i] = o.id
	}
	return ids
}

// Prompt points at an object on a frame, a new one where the id is new, and answers with all objects' masks on that frame.
// The answer becomes memory with the next Commit. The caller releases the result.
func (t *Tracker) Prompt(frame *frames.Frame, id int, p Prompt) (*Result, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	features, err := t.encode(frame)
	if err != nil {
		return nil, err
	}
	o := t.find(id)
	if o == nil { // filed only once its first prompt has been answered
		o = &object{id: id, bank: memory.NewBank(t.options.Retention, t.options.State), pending: map[int]pending{}, points: map[int][]model.Point{}, tracked: map[int]memory.Direction{}}
	}
	kind := memory.Conditioning
	direction, corrected := o.tracked[frame.Index]
	if corrected && !t.options.CorrectAsConditioning {
		kind = memory.Recent
	}
	var entry *memory.Entry
	if p.Mask != nil {
		entry, err = t.decodeDrawn(features, p)
		if err == nil {
			delete(o.points, frame.Index)
		}
	} else {
		points := p.points(t.network.Config().ImageSize)
		if p.KeepOldPoints {
			points = slices.Concat(o.points[frame.Index], points)
		}
		entry, err = t.decodeClicked(features, o, frame.Index, points, kind, direction, corrected)
		if err == nil {
			o.points[frame.Index] = points
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prompting object %d on frame %d: %w", id, frame.Index, err)
	}
	o.pending[frame.Index].entry.Release()
	o.pending[frame.Index] = pending{kind, entry}
	if t.find(id) == nil {
		t.objects = append(t.objects, o)
	}
	return t.look(frame.Index, kind), nil
}

// Commit makes pending prompts part of the memory (propagate_in_video_preflight). It is called before a pass; the error is
// ErrNoObjects, or wraps ErrUnprompted.
func (t *Tracker) Commit() error {
	if len(t.objects) == 0 {
		return ErrNoObjects
	}
	for _, o := range t.objects {
		if err := t.commit(o); err != nil {
			return fmt.Errorf("committing the prompts of object %d: %w", o.id, err)
		}
		if len(o.bank.Frames(memory.Conditioning)) == 0 {
			return fmt.Errorf("object %d: %w; prompt it again or remove it", o.id, ErrUnprompted)
		}
	}
	return nil
}

func (t *Tracker) commit(o *object) error {
	for _, kind := range []memory.Kind{memory.Recent, memory.Conditioning} {
		if err := t.commitKind(o, kind); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracker) commitKind(o *object, kind memory.Kind) error {
	for _, frame := range slices.Sorted(maps.Keys(o.pending)) {
		p := o.pending[frame]
		if p.kind != kind {
			continue
		}
		delete(o.pending, frame)
		if err := o.bank.Add(frame, p.kind, p.entry); err != nil {
			return err
		}
		t.clearAround(o, frame)
	}
	return nil
}

// clearAround forgets what was remembered just around a prompted frame, which may show what the prompt has put right.
func (t *Tracker) clearAround(o *object, frame int) {
	if t.options.ClearAroundInput {
		o.bank.ClearAround(frame, t.policy.Stride*t.policy.NumMaskmem)
	}
}

// Clear takes an object's prompts on a frame back and answers with what all objects look like there now; a conditioning frame
// becomes a recent one (clear_all_prompts_in_frame). The caller releases the result.
func (t *Tracker) Clear(frame, id int) (*Result, error) {
	o := t.find(id)
	if o == nil {
		return nil, fmt.Errorf("object %d: %w", id, ErrUnknownObject)
	}
	delete(o.points, frame)
	o.pending[frame].entry.Release()
	delete(o.pending, frame)
	if o.bank.Downgrade(frame) {
		delete(o.tracked, frame)
	}
	kind := memory.Recent
	for _, other := range t.objects {
		if p, ok := other.pending[frame]; ok && p.kind == memory.Conditioning {
			kind = memory.Conditioning
		}
	}
	return t.look(frame, kind), nil
}

// Remove forgets an object and says whether there was one of that id.
func (t *Tracker) Remove(id int) bool {
	i := slices.IndexFunc(t.objects, func(o *object) bool { return o.id == id })
	if i < 0 {
		return false
	}
	t.objects[i].release()
	t.objects = slices.Delete(t.objects, i, i+1)
	return true
}

// Reset forgets all objects.
func (t *Tracker) Reset() {
	for _, o := range t.objects {
		o.release()
	}
	t.objects = nil
}

// Close forgets everything; the tracker must not be used afterwards. The network stays open.
func (t *Tracker) Close() {
	t.Reset()
	t.forgetFeatures()
}

// Conditioned lists the frames on which any object is prompted and committed, in ascending order.
func (t *Tracker) Conditioned() []int {
	var all []int
	for _, o := range t.objects {
		all = append(all, o.bank.Frames(memory.Conditioning)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// look gathers what all objects look like on a frame: a pending answer of the given kind first, then what is remembered
// (_consolidate_temp_output_across_obj).
func (t *Tracker) look(frame int, kind memory.Kind) *Result {
	r := &Result{Frame: frame, Prompted: true, Pass: memory.Forward}
	for _, o := range t.objects {
		entry, _ := o.bank.Find(frame)
		if p, ok := o.pending[frame]; ok && p.kind == kind {
			entry = p.entry
		}
		r.add(o.id, entry)
	}
	return r
}

func (t *Tracker) find(id int) *object {
	for _, o := range t.objects {
		if o.id == id {
			return o
		}
	}
	return nil
}

// encode returns the frame's features, borrowed until another frame is encoded.
func (t *Tracker) encode(frame *frames.Frame) (*model.Features, error) {
	if t.cachedOf == frame {
		return t.cached, nil
	}
	features, err := t.network.EncodeImage(frame.Pixels)
	if err != nil {
		return nil, fmt.Errorf("encoding frame %d: %w", frame.Index, err)
	}
	t.forgetFeatures()
	t.cached, t.cachedOf = features, frame.Retain()
	return features, nil
}

func (t *Tracker) forgetFeatures() {
	t.cached.Release()
	t.cachedOf.Release()
	t.cached, t.cachedOf = nil, nil
}

// forgetTracked bounds the notes of an endless stream by what its bank can still be asked about.
func (t *Tracker) forgetTracked(o *object, newest int) {
	keep := t.options.Retention.Logits
	if keep == 0 {
		return
	}
	for f := range o.tracked {
		if newest-f > keep {
			delete(o.tracked, f)
		}
	}
	for f := range o.points {
		if newest-f > keep {
			delete(o.points, f)
		}
	}
}

func (o *object) release() {
	o.bank.Release()
	for _, p := range o.pending {
		p.entry.Release()
	}
}
