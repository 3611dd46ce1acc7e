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

// attentionBudget bounds the attention scores of one batch, in float32 values: beyond it more objects at once gain nothing.
const attentionBudget = 32 << 20

// Step tracks all objects on one frame of a pass: a frame on which an object is conditioned shows its mask as it is, any other
// is inferred from memory and remembered (propagate_in_video). Commit comes first. The caller releases the result.
func (t *Tracker) Step(frame *frames.Frame, direction memory.Direction) (*Result, error) {
	features, err := t.encode(frame)
	if err != nil {
		return nil, err
	}
	var inferred []*object
	for _, o := range t.objects {
		if _, ok := o.bank.Get(frame.Index, memory.Conditioning); ok {
			t.clearAround(o, frame.Index)
		} else {
			inferred = append(inferred, o)
		}
	}
	for batch := range slices.Chunk(inferred, chunk) {
		if err := t.infer(frame.Index, features, batch, direction); err != nil {
			return nil, fmt.Errorf("tracking frame %d: %w", frame.Index, err)
		}
	}
	r := &Result{Frame: frame.Index, Pass: direction}
	for _, o := range t.objects {
		o.tracked[frame.Index] = direction
		t.forgetTracked(o, frame.Index)
		entry, _ := o.bank.Find(frame.Index)
		r.add(o.id, entry)
	}
	return r, nil
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
	}
	prediction, err := t.network.DecodeMasks(features, embedding, prompts)
	if err != nil {
		return err
	}
	defer prediction.Release()
	// The memory encoder sees the mask as predicted; holes are filled in what is stored and shown.
	memories, err := t.network.EncodeMemory(features, prediction.Logits, prediction.ObjectScores, make([]bool, len(objects)))
	if err != nil {
		return err
	}
	defer memories.Release()
	t.fillHoles(prediction.Logits)
	for i, o := range objects {
		if err := o.bank.Add(frame, memory.Recent, entryOf(prediction, memories, i)); err != nil {
			return fmt.Errorf("object %d: %w", o.id, err)
		}
	}
	return nil
}

// attend conditions the frame on each object's memories. Objects with equally many memories and pointers share a batch.
func (t *Tracker) attend(frame int, features *model.Features, objects []*object, direction memory.Direction) (*tensor.Tensor, error) {
	attentions := make([]model.Attention, len(objects))
	for i, o := range objects {
		s := o.bank.Select(frame, direction, t.policy)
		attentions[i] = s.Attention()
		t.trace(frame, o.id, direction, s)
	}
	order := make([]int, len(objects)) // of objects, so that equal shapes are neighbours
	for i := range order {
		order[i] = i
	}
	shape := func(i int) [2]int { return [2]int{len(attentions[i].Memories), len(attentions[i].Pointers)} }
	slices.SortStableFunc(order, func(a, b int) int { x, y := shape(a), shape(b); return slices.Compare(x[:], y[:]) })

	parts := make([]*tensor.Tensor, len(objects)) // C×h×w each
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for len(order) > 0 {
		memories := shape(order[0])[0]
		n := 1
		for n < len(order) && n < t.attentionBatch(memories) && shape(order[n]) == shape(order[0]) {
			n++
		}
		batch := make([]model.Attention, n)
		for i := range batch {
			batch[i] = attentions[order[i]]
		}
		conditioned, err := t.network.AttendMemory(features, batch)
		if err != nil {
			return nil, err
		}
		if n == len(objects) {
			return conditioned, nil // the sort is stable: already in order
		}
		for i, at := range order[:n] {
			parts[at] = conditioned.Index(i)
		}
		conditioned.Release()
		order = order[n:]
	}
	return tensor.Stack(parts[0].Pool(), parts...)
}

// attentionBatch is how many objects with so many memories are attended to at once.
func (t *Tracker) attentionBatch(memories int) int {
	cells := t.network.Config().Cells() * t.network.Config().Cells()
	return max(1, attentionBudget/(cells*cells*max(1, memories)))
}

// decodeClicked predicts the mask of points: like an image where the frame has not been tracked, with memory where it corrects
// a tracked one. The mask that the frame had is fed back.
func (t *Tracker) decodeClicked(features *model.Features, o *object, frame int, points []model.Point, kind memory.Kind, direction memory.Direction, corrected bool) (*memory.Entry, error) {
	var embedding *tensor.Tensor
	if corrected {
		var err error
		if embedding, err = t.attend(frame, features, []*object{o}, direction); err != nil {
			return nil, err
		}
		defer embedding.Release()
	}
	previous, _ := o.bank.Find(frame)
	if p, ok := o.pending[frame]; ok && p.kind == kind {
		previous = p.entry
	}
	prompt := model.Prompt{Points: points, Multimask: t.multimask(len(points), !corrected)}
	if previous != nil && previous.Logits != nil {
		fed, err := clamped(t.scratch, previous.Logits)
		if err != nil {
			return nil, err
		}
		defer fed.Release()
		prompt.Logits = fed
	}
	return t.answer(features, embedding, prompt)
}

// decodeDrawn takes a drawn mask as the answer and derives its object pointer.
func (t *Tracker) decodeDrawn(features *model.Features, p Prompt) (*memory.Entry, error) {
	drawn, err := drawnMask(t.scratch, p.Mask, t.network.Config().ImageSize)
	if err != nil {
		return nil, err
	}
	defer drawn.Release()
	return t.answer(features, nil, model.Prompt{Mask: drawn})
}

// answer decodes one prompt into what it leaves behind; the memory of a prompted frame is made from its stored, hole-filled
// and binarised mask.
func (t *Tracker) answer(features *model.Features, embedding *tensor.Tensor, prompt model.Prompt) (*memory.Entry, error) {
	prediction, err := t.network.DecodeMasks(features, embedding, []model.Prompt{prompt})
	if err != nil {
		return nil, err
	}
	defer prediction.Release()
	t.fillHoles(prediction.Logits)
	memories, err := t.network.EncodeMemory(features, prediction.Logits, prediction.ObjectScores, []bool{true})
	if err != nil {
		return nil, err
	}
	defer memories.Release()
	return entryOf(prediction, memories, 0), nil
}

// multimask is the reference's rule (_use_multimask): three candidates for a single click or none, one for anything clearer.
func (t *Tracker) multimask(points int, first bool) bool {
	c := t.network.Config()
	return c.MultimaskOutputInSAM && (first || c.MultimaskForTracking) && c.MultimaskMinPoints <= points && points <= c.MultimaskMaxPoints
}

func (t *Tracker) fillHoles(logits *tensor.Tensor) {
	shape := logits.Shape() // n×4h×4w
	h, w := shape[1], shape[2]
	for one := range slices.Chunk(logits.Float32s(), h*w) {
		fillHoles(one, h, w, t.options.FillHoleArea)
	}
}

func (t *Tracker) trace(frame, id int, direction memory.Direction, s memory.Selection) {
	if t.options.Trace == nil {
		return
	}
	c := t.network.Config()
	spatial := len(s.Conditioning) + len(s.Recent)
	tr := Trace{Frame: frame, Object: id, Pass: direction, Tokens: spatial*c.Cells()*c.Cells() + len(s.Pointers)*c.PointerTokens(), Conditioning: []int{}, Recent: []int{}, Pointers: []int{}}
	for _, m := range s.Conditioning {
		tr.Conditioning = append(tr.Conditioning, m.Frame)
	}
	for _, m := range s.Recent {
		tr.Recent = append(tr.Recent, m.Frame)
	}
	for _, p := range s.Pointers {
		tr.Pointers = append(tr.Pointers, p.Frame)
	}
	for _, list := range [][]int{tr.Conditioning, tr.Recent, tr.Pointers} {
		slices.Sort(list)
	}
	t.options.Trace(tr)
}

// entryOf takes object i's part out of a batch.
func entryOf(p *model.Prediction, memories *tensor.Tensor, i int) *memory.Entry {
	return &memory.Entry{Features: memories.Index(i), Logits: p.Logits.Index(i), Pointer: p.Pointers.Index(i), ObjectScore: p.ObjectScores[i], PredictedIoU: p.PredictedIoU[i]}
}

// clamped is a copy of logits within ±32, the range in which they are fed back.
func clamped(pool *tensor.Pool, logits *tensor.Tensor) (*tensor.Tensor, error) {
	home, err := logits.To(pool)
	if err != nil {
		return nil, err
	}
	defer home.Release()
	t, err := pool.New(tensor.Float32, logits.Shape()...)
	if err != nil {
		return nil, err
	}
	to := t.Float32s()
	for i, v := range home.Float32s() {
		to[i] = min(max(v, -32), 32)
	}
	return t, nil
}
