package stream

import "time"

// pace divides the network between the frames as they come and what there is to do in the past. Frames go first, and the past takes
// the time that they leave. Where they leave none it has a least share:
//
//   - an object that catches up takes two steps after each frame, so that it comes nearer by one with every frame;
//   - a reverse pass takes as much time as frames do, whatever its steps cost: the frame rate halves at worst.
type pace struct {
	steps int           // that are owed to objects that catch up
	owed  time.Duration // to the reverse pass; below 0 it is ahead
}

// catchUpSteps come after each frame.
const catchUpSteps = 2

// due says that the past comes before a frame that waits.
func (p *pace) due(catchingUp, reversing bool) bool {
	switch {
	case catchingUp:
		return p.steps > 0
	case reversing:
		return p.owed > 0
	}
	return false
}

// frame notes that a frame has been tracked, in so long.
func (p *pace) frame(took time.Duration) {
	p.steps = catchUpSteps
	p.owed = min(p.owed, 0) + took // what was not asked for is not saved up
}

// past notes a step in the past; due says that a frame may have waited for it. Time that frames left is for nothing.
func (p *pace) past(took time.Duration, due, catchingUp bool) {
	switch {
	case !due:
	case catchingUp:
		p.steps--
	default:
		p.owed -= took
	}
}

// idle forgets what is owed: nothing is to be done in the past.
func (p *pace) idle() { *p = pace{} }
