package model

import "maskstream/tensor"

// Candidates are the mask decoder's own proposals for n prompts, m each (modeling/sam/mask_decoder.py, forward). Logits are as
// predicted, not gated by the object score. As an image is segmented with, m is 3 where prompts ask for several candidates, else 1, and
// there are no pointers. Beside a [Prediction] they are all Proposals, with their pointers, which are gated as the prediction's; where
// the network takes every pointer from the single mask's token (use_multimask_token_for_obj_ptr is off), all are that one.
type Candidates struct {
	Logits       *tensor.Tensor // n×m×4h×4w float32
	Pointers     *tensor.Tensor // n×m×C float32, or nil
	PredictedIoU []float32      // n·m, in the order of Logits
}

// Release gives the tensors back. Nil is ignored.
func (c *Candidates) Release() {
	if c == nil {
		return
	}
	c.Logits.Release()
	c.Pointers.Release()
}
