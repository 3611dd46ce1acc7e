// Package amg finds the masks of everything on a picture, with nobody pointing at anything (sam2/automatic_mask_generator.py;
// Kirillov et al. 2023, "Segment Anything", appendix B).
//
// The idea: point everywhere and keep what the network is sure of. A grid of points is prompted in batches on one image
// embedding, each point gives three candidates, and candidates fall away in an order that spends the least on those that do
// not stay: by predicted IoU while they still are small maps of logits, then by how little the mask changes with the threshold,
// then at the edge of a crop, and last as duplicates of a better one. What is left becomes records.
//
//	generator, err := amg.New(network, amg.Default(), pool)
//	records, err := generator.Generate(ctx, frame)        // everything on a frame
//	records, err = generator.Discover(ctx, frame, known)  // what is not tracked yet
//
// A mask is runs from the moment it has the picture's size: area, box, overlap and the way back from a crop are arithmetic on
// runs, and no picture of a mask exists.
package amg
