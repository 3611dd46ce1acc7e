package propagate

import (
	"fmt"
	"slices"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

// chunk is how many objects are decoded and encoded at once, so that temporaries do not grow with their number.
const chunk = 32

// Step tracks all objects on one frame of a pass: a frame on which an object is conditioned shows its mask as it is, any other
// is inferred from memory and remembered (propagate_in_video). Commit comes first; an object without a committed prompt has no
// result. The image is encoded only where an object needs it. The caller releases the result. After an error some objects may
// have been tracked on the frame; it may be stepped on again.
func (t *Tracker) Step(frame *frames.Frame, direction memory.Direction) (*Result, error) {
	return t.step(frame, direction, t.objects)
}

// StepOnly is Step for some objects; the result lists no others. An id that is not known is left out.
func (t *Tracker) StepOnly(frame *frames.Frame, direction memory.Direction, ids []int) (*Result, error) {
	var objects []*object
	for _, o := range t.objects {
		if slices.Contains(ids, o.id) {
			objects = append(objects, o)
		}
	}
	return t.step(frame, direction, objects)
}

func (t *Tracker) step(frame *frames.Frame, direction memory.Direction, objects []*object) (*Result, error) {
	var inferred []*object
	for _, o := range objects {
		if t.answered(o, frame.Index) {
			t.clearAround(o, frame.Index)
			t.note(o, frame.Index, direction)
		} else if o.prompted() {
			inferred = append(inferred, o)
		}
	}
	if len(inferred) > 0 {
		features, err := t.encode(frame)
		if err != nil {
			return nil, err
		}
		for batch := range slices.Chunk(inferred, chunk) {
			if err := t.infer(frame.Index, features, batch, direction); err != nil {
				return nil, fmt.Errorf("tracking frame %d: %w", frame.Index, err)
			}
		}
	}
	r := &Result{Frame: frame.Index, Pass: direction}
	for _, o := range objects {
		var entry *memory.Entry
		if o.prompted() {
			entry, _ = o.bank.Find(frame.Index)
		}
		r.add(o.id, entry)
	}
	return r, nil
}

// answered says whether an object's mask on a frame is known and not inferred again: it was prompted there, or the pass starts from
// there.
func (t *Tracker) answered(o *object, frame int) bool {
	if _, ok := o.bank.Get(frame, memory.Conditioning); ok {
		return true
	}
	_, ok := o.bank.Get(frame, memory.Recent)
	return ok && t.start != nil && frame == *t.start
}

// infer runs one batch of objects through memory attention, mask decoder and memory encoder, and files what they leave behind.
func (t *Tracker) infer(frame int, features *model.Features, objects []*object, direction memory.Direction) error {
	embedding, err := t.attend(frame, features, objects, direction) // n×C×h×w
	if err != nil {
		return err
	}
	defer embedding.Release()
	prompts := make([]model.Prompt, len(objects))
	for i := range prompts {
		prompts[i].Multimask = t.multimask(0, false)
		prompts[i].Alternatives = t.options.MotionAware && prompts[i].Multimask
	}
	prediction, err := t.network.DecodeMasks(features, embedding, prompts)
	if err != nil {
		return err
	}
	defer prediction.Release()
	t.mend(frame, prediction)
	tracks := t.follow(frame, objects, prediction, direction)
	// The memory encoder sees the mask as predicted; holes are filled in what is stored and shown.
	memories, err := t.network.EncodeMemory(features, prediction.Logits, prediction.ObjectScores, make([]bool, len(objects)))
	if err != nil {
		return err
	}
	defer memories.Release()
	t.fillHoles(prediction.Logits)
	for i, o := range objects {
		e := entryOf(prediction, memories, i)
		e.Motion = tracks[i]
		if err := o.bank.Add(frame, memory.Recent, e); err != nil {
			return fmt.Errorf("object %d: %w", o.id, err)
		}
		t.note(o, frame, direction)
	}
	return nil
}

// note remembers that a pass went over a frame, within what retention says can still be corrected.
func (t *Tracker) note(o *object, frame int, direction memory.Direction) {
	o.tracked[frame] = direction
	keep := t.options.Retention.Logits
	if keep == 0 {
		return
	}
	for f := range o.tracked {
		if direction.From(f, frame) >= keep {
			delete(o.tracked, f)
		}
	}
	for f := range o.points {
		if direction.From(f, frame) >= keep {
			delete(o.points, f)
		}
	}
}

func (t *Tracker) fillHoles(logits *tensor.Tensor) {
	shape := logits.Shape() // n×4h×4w
	h, w := shape[1], shape[2]
	for one := range slices.Chunk(logits.Float32s(), h*w) {
		fillHoles(one, h, w, t.options.FillHoleArea)
	}
}

// entryOf takes object i's part out of a batch.
func entryOf(p *model.Prediction, memories *tensor.Tensor, i int) *memory.Entry {
	return &memory.Entry{Features: memories.Index(i), Logits: p.Logits.Index(i), Pointer: p.Pointers.Index(i), ObjectScore: p.ObjectScores[i], PredictedIoU: p.PredictedIoU[i]}
}
