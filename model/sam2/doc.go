// Package sam2 is SAM 2's network (Ravi et al. 2024; facebookresearch/sam2): which one a checkpoint holds, and what it computes,
// written as ONNX graphs in Go from its weights. It runs nothing; model/ort does.
//
//	weights, config, err := sam2.Load("sam2.1_hiera_tiny.pt", "")
//	graphs, err := sam2.Build(config, checkpoint.NewWeights(weights))
//
// Files are named after the reference's modules and restate them: hieradet.go, image_encoder.go, position_encoding.go,
// memory_attention.go, transformer.go, prompt_encoder.go, mask_decoder.go, memory_encoder.go, sam2_base.go. EdgeTAM (Zhou et al.
// 2025; facebookresearch/EdgeTAM) is the same network with another trunk, repvit.go, and memories summed up in few tokens,
// perceiver.go. The config files tell networks apart. Sizes stand beside the lines that make them; axes are those of package model.
//
// The graphs compute what the reference computes, to rounding, but not always in its order. What holds everywhere:
//
//   - channels come last, so that convolutions of one pixel, and those that step as far as they reach, are linear layers;
//   - linear layers that nothing lies between are multiplied together when the graph is built ([linear.then]), and so is the
//     scale of a normalisation before one ([linear.after]);
//   - position embeddings are constants;
//   - n, the number of objects, and all numbers of memories, pointers and points are known only at run time.
package sam2
