// Package model is the vocabulary of SAM 2 (Ravi et al. 2024, "SAM 2: Segment Anything in Images and Videos"): what goes
// into the network and what comes out, and no engine.
//
// Memory is an input of the network, not part of it: a [Network] has no state between calls. Whoever tracks keeps the
// memories and hands them in:
//
//	features, _ := network.EncodeImage(pixels)                     // once a frame
//	embedding, _ := network.AttendMemory(features, attentions)     // per object: which memories
//	prediction, _ := network.DecodeMasks(features, embedding, prompts)
//	memory, _ := network.EncodeMemory(features, prediction.Logits, prediction.ObjectScores, binarize)
//
// Axes, used everywhere: n objects, C embedding width (256), M memory width (64), S image size (1024), h×w = S/16 × S/16
// cells of the embedding, 4h×4w a low-resolution mask.
package model
