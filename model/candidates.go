package model

import "maskstream/tensor"

// Candidates are the mask decoder's own proposals for n prompts (modeling/sam/mask_decoder.py, forward), as an image is
// segmented with: nothing is gated by the object score, and no object pointer is made.
type Candidates struct {
	Logits       *tensor.Tensor // n×m×4h×4w float32: m is 3 where prompts ask for several candidates, else 1
	PredictedIoU []float32      // n·m, in the order of Logits
}

// Release gives the logits back. Nil is ignored.
func (c *Candidates) Release() {
	if c == nil {
		return
	}
	c.Logits.Release()
}
