"""Milliseconds a frame in PyTorch, float32, one thread, with the memory full: python speed.py [size]"""
import sys
import time

import torch

import network

torch.set_num_threads(1)
size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
model = network.build(size=size).eval()
picture, memory = torch.randn(1, 3, size, size), dict(cond_frame_outputs={}, non_cond_frame_outputs={})
box = dict(point_coords=torch.tensor([[[30., 30.], [90., 90.]]]), point_labels=torch.tensor([[2, 3]], dtype=torch.int32))
encode, track = [], []
with torch.inference_mode():
    for t in range(40):
        t0 = time.perf_counter()
        levels, positions, sizes = model._prepare_backbone_features(model.forward_image(picture))[1:]
        t1 = time.perf_counter()
        out = model.track_step(t, t == 0, list(levels), list(positions), sizes, box if t == 0 else None, None, memory, 1000)
        memory["cond_frame_outputs" if t == 0 else "non_cond_frame_outputs"][t] = out
        if t > 18:
            encode.append(t1 - t0)
            track.append(time.perf_counter() - t1)
for name, times in ("image encoder", encode), ("track step, one object", track):
    times.sort()
    print(f"{name}: median {times[len(times) // 2] * 1e3:.1f} ms, best {times[0] * 1e3:.1f} ms")
