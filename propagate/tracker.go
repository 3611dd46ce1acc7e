package propagate

import (
	"errors"
	"fmt"
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

// Options are the reference's, under its names. The zero value is the reference's class default.
type Options struct {
	FillHoleArea          int  // fill_hole_area: background of at most so many low-resolution cells is filled; 0 is off
	CorrectAsConditioning bool // add_all_frames_to_correct_as_cond
	ClearAroundInput      bool // clear_non_cond_mem_around_input
	MaxConditioning       *int // max_cond_frames_in_attn in place of the model's own
	MotionAware           bool // masks and memories chosen by motion as well (SAMURAI, arXiv 2411.11922)

	Retention memory.Retention
	State     *tensor.Pool // home of memories and logits (offload_state_to_cpu); nil leaves them where the network makes them
	Overflow  *tensor.Pool // where they go when their home is full, see Tracker.MakeRoom; nil: nowhere
	// MakeRoom is asked where that gives no room, with the error of the full pool, and answers nil where there is some now; nil for none.
	MakeRoom func(error) error
	Trace    func(Trace) // called for every object of every step that attends to memory; nil for none
	// NotFinite hears of a frame for which the network answered something that is no number, see mend; nil for none.
	NotFinite func(frame int)
}

// Policy is what a frame attends to with a model of the given configuration.
func (o Options) Policy(c model.Config) memory.Policy {
	policy := memory.PolicyOf(c)
	if o.MaxConditioning != nil {
		policy.MaxConditioning = *o.MaxConditioning
	}
	policy.MotionAware = o.MotionAware
	return policy
}

// Tracker holds the objects of one stream or session. It belongs to one goroutine.
type Tracker struct {
	network model.Network
	room    func(error) error // MakeRoom, and of a snapshot first that of its origin
	options Options
	policy  memory.Policy

	objects []*object // in the order of their first prompt
	start   *int      // of a snapshot: the frame it starts from
	at      int       // index of the frame that was looked at last
	scratch *tensor.Pool

	cached   *model.Features // of the last frame that was encoded
	cachedOf picture
}

// object is one tracked object.
type object struct {
	id      int
	bank    *memory.Bank
	pending []pending                // prompted, not yet part of the memory, in the order of the prompts; one a frame
	points  map[int][]model.Point    // prompts by frame
	tracked map[int]memory.Direction // frames a pass went over
}

// New returns a tracker without objects. It borrows the network.
func New(network model.Network, options Options) *Tracker {
	t := &Tracker{options: options, policy: options.Policy(network.Config()), scratch: tensor.NewPool("prompts", tensor.Host(), 0)}
	t.network, t.room = roomy{network, t.MakeRoom}, t.MakeRoom
	return t
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
// The answer becomes memory with the next Commit. The caller releases the result. After an error, which wraps ErrPrompt where the
// prompt makes no sense, everything is as before.
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
		o = &object{id: id, bank: memory.NewBank(t.options.Retention, t.options.State, t.options.Overflow), points: map[int][]model.Point{}, tracked: map[int]memory.Direction{}}
	}
	direction, corrected := o.tracked[frame.Index]
	corrected = corrected && o.prompted() // else there is nothing to correct by: the object starts afresh
	kind := memory.Conditioning
	if corrected && !t.options.CorrectAsConditioning {
		kind = memory.Recent
	}
	var points []model.Point
	var entry *memory.Entry
	if p.Mask != nil {
		entry, err = t.decodeDrawn(features, p)
	} else {
		if p.KeepOldPoints {
			points = o.points[frame.Index]
		}
		points = slices.Concat(points, p.points(t.network.Config().ImageSize))
		if len(points) > maxPoints {
			return nil, tooManyPoints(len(points))
		}
		entry, err = t.decodeClicked(features, o, frame.Index, points, kind, direction, corrected)
	}
	if err != nil {
		return nil, fmt.Errorf("prompting object %d on frame %d: %w", id, frame.Index, err)
	}
	o.points[frame.Index] = points // none where a mask was drawn
	o.await(frame.Index, kind, entry)
	if t.find(id) == nil {
		t.objects = append(t.objects, o)
	}
	return t.look(frame.Index, kind), nil
}

// Clear takes an object's prompts on a frame back and answers with what all objects look like there now; a conditioning frame
// becomes a recent one (clear_all_prompts_in_frame). The object stays, also without any prompt. The caller releases the result;
// the error wraps ErrUnknownObject.
func (t *Tracker) Clear(frame, id int) (*Result, error) {
	o := t.find(id)
	if o == nil {
		return nil, fmt.Errorf("object %d: %w", id, ErrUnknownObject)
	}
	delete(o.points, frame)
	o.withdraw(frame)
	if o.bank.Downgrade(frame) {
		delete(o.tracked, frame)
	}
	kind := memory.Recent
	for _, other := range t.objects {
		if other.awaits(frame, memory.Conditioning) != nil {
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
	t.Spare()
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

// Look says what all objects look like on a frame, as far as that is remembered. The caller releases the result.
func (t *Tracker) Look(frame int) *Result { return t.look(frame, memory.Conditioning) }

// look gathers what all objects look like on a frame: a pending answer of the given kind first, then what is remembered
// (_consolidate_temp_output_across_obj).
func (t *Tracker) look(frame int, kind memory.Kind) *Result {
	r := &Result{Frame: frame, Prompted: true, Pass: memory.Forward}
	for _, o := range t.objects {
		entry := o.awaits(frame, kind)
		if entry == nil {
			entry, _ = o.bank.Find(frame)
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
