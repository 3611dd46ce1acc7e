package propagate

import (
	"math"

	"maskstream/model"
)

// mend makes numbers of what a network answered and is none, before anything is derived from it: JSON has no NaN and no infinity, and a
// memory with one would spoil every later mask of its object. Such an object is absent where its score or a logit is not a number.
// Options.NotFinite hears of it, once for each call.
func (t *Tracker) mend(frame int, p *model.Prediction) {
	n, mended := len(p.ObjectScores), false
	for i := range n {
		logits := row(p.Logits.Float32s(), i, n)
		unknown := isNaN(p.ObjectScores[i])
		for _, v := range logits {
			unknown = unknown || isNaN(v)
		}
		if unknown {
			p.ObjectScores[i] = model.NoObjectLogit
			for at := range logits {
				logits[at] = model.NoObjectLogit
			}
		}
		mended = unknown || mended
	}
	mended = finite(p.ObjectScores) || mended
	mended = finite(p.PredictedIoU) || mended
	mended = finite(p.Pointers.Float32s()) || mended
	mended = finite(p.Logits.Float32s()) || mended
	if a := p.Alternatives; a != nil { // not taken for an absent object
		for _, values := range [][]float32{a.Logits.Float32s(), a.Pointers.Float32s(), a.PredictedIoU} {
			mended = finite(values) || mended
		}
	}
	if mended && t.options.NotFinite != nil {
		t.options.NotFinite(frame)
	}
}

// finite makes NaN 0 and infinities the largest numbers there are, and says whether there were any.
func finite(values []float32) (found bool) {
	for i, v := range values {
		if !bad(v) {
			continue
		}
		found = true
		switch {
		case isNaN(v):
			values[i] = 0
		case v > 0:
			values[i] = math.MaxFloat32
		default:
			values[i] = -math.MaxFloat32
		}
	}
	return found
}

func isNaN(v float32) bool { return v != v }
