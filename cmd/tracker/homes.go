package main

import "maskstream/tensor"

// homes are the pools that the offload switches choose from: what is not offloaded lives where the network does. On the CPU
// both are host memory, and moving between them is the same copy that a GPU would make.
type homes struct {
	network *tensor.Pool // of what the network makes
	video   *tensor.Pool // of converted frames
	state   *tensor.Pool // of memories and logits
}

// all are the pools, each once.
func (h homes) all() []*tensor.Pool {
	pools := []*tensor.Pool{h.network}
	for _, p := range []*tensor.Pool{h.video, h.state} {
		if p != h.network {
			pools = append(pools, p)
		}
	}
	return pools
}

func newHomes(offloadVideo, offloadState bool) homes {
	network := tensor.NewPool("network", tensor.Host(), 0)
	h := homes{network: network, video: network, state: network}
	if offloadVideo {
		h.video = tensor.NewPool("video", tensor.Host(), 0)
	}
	if offloadState {
		h.state = tensor.NewPool("state", tensor.Host(), 0)
	}
	return h
}
