// Package motion follows one object's box through time and says which of several masks lies where the object was going
// (SAMURAI: Yang et al. 2024, arXiv 2411.11922).
//
// A [Track] is a value: what is known after one frame. [Track.Follow] makes the next one, forwards or backwards in time, from the
// masks that a frame offers. Once the object has been seen well for a while, the mask that is chosen is the one with the best
// mixture of predicted IoU and agreement with the motion, so that a look-alike in another place loses.
//
//	track := motion.Start(motion.BoxOf(prompted, width))
//	track, best := track.Follow(1, boxes, predictedIoUs)
//	track.Agreement // of the chosen box with the motion
package motion
