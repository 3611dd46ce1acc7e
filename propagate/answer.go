package propagate

import (
	"maskstream/memory"
	"maskstream/memory/motion"
	"maskstream/model"
	"maskstream/tensor"
)

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
	previous := o.awaits(frame, kind)
	if previous == nil {
		previous, _ = o.bank.Find(frame)
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
	t.mend(t.at, prediction)
	t.fillHoles(prediction.Logits)
	memories, err := t.network.EncodeMemory(features, prediction.Logits, prediction.ObjectScores, []bool{true})
	if err != nil {
		return nil, err
	}
	defer memories.Release()
	e := entryOf(prediction, memories, 0)
	if t.options.MotionAware {
		e.Motion = motion.Start(motion.BoxOf(e.Logits.Float32s(), t.network.Config().LowRes())) // whatever the motion was believed to be, here it is certain
	}
	return e, nil
}

// multimask is the reference's rule (_use_multimask): three candidates for a single click or none, one for anything clearer.
func (t *Tracker) multimask(points int, first bool) bool {
	c := t.network.Config()
	return c.MultimaskOutputInSAM && (first || c.MultimaskForTracking) && c.MultimaskMinPoints <= points && points <= c.MultimaskMaxPoints
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
