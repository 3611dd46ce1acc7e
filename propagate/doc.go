// Package propagate tracks prompted objects through time: SAM 2's video predictor (sam2_video_predictor.py) as a state machine
// over a [model.Network] and one memory bank an object.
//
// A [Tracker] takes prompts and steps. A step encodes a frame once for all objects, attends to each object's memories, decodes
// all masks in one batch, encodes them as memories and files those. A pass is steps over a range with a sign: forward, reverse
// and catching up after a late prompt are the same code. A [Session] is the reference's way to drive it: the steps of a script
// over a clip. With [Options].MotionAware, masks and memories are chosen by how an object moves, too.
//
//	tracker := propagate.New(network, propagate.Options{CorrectAsConditioning: true, FillHoleArea: 8})
//	defer tracker.Close()
//	answer, err := tracker.Prompt(frame, 1, propagate.Prompt{Box: &box, Width: 1280, Height: 720})
//	err = tracker.Commit()
//	result, err := tracker.Step(next, memory.Forward)      // the caller releases results
//
// It belongs to one goroutine.
package propagate
