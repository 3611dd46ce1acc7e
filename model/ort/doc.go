// Package ort runs SAM 2 on ONNX Runtime: the graphs of model/sam2 behind [model.Network], on the CPU.
//
// ONNX Runtime's library is opened at run time, from beside the executable, from the checkout or from the system, so that a
// program without it still starts and can say what to install. It is one per process; networks are as many as you like, each
// with its own threads.
//
//	network, err := ort.Load(config, weights, ort.Options{Threads: 2})
//	defer network.Close()
//	features, err := network.EncodeImage(pixels)
//
// Inputs and outputs are the memory of tensors out of a [tensor.Pool]: nothing is copied but memories and pointers, which
// come from many frames and are laid side by side for the memory attention.
//
// This is the only package that imports onnxruntime_go.
package ort
