// Package modeltest is a model.Network without an engine, for tests of everything above it: a disc follows a dot.
//
// Pictures are bright dots on black, drawn by a [Scene]. The "image encoder" keeps a small map of the brightness, a "memory" is
// how much of each cell a mask covered, attending to memories says where the object was last seen, and the "mask decoder" answers
// with the bright blob nearest to there, or to the clicks; none within reach means that the object is absent. Every logit also
// depends a little on all memories and pointers attended to, so that a wrong selection shows. Shapes, batches and ownership are
// held to the rules of model.Network, and breaking one is an error.
//
//	pool := tensor.NewPool("network", tensor.Host(), 0)
//	network := modeltest.New(pool, 128)
//	scene := modeltest.Scene{Pool: pool, Size: 128, Width: 320, Height: 180}
//	frame := scene.Frame(0, modeltest.Dot{X: 90, Y: 60, R: 14})
package modeltest
