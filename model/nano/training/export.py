"""Write a checkpoint's averaged weights as the float16 safetensors that the program embeds.

    python export.py nano-work/ckpt/long.pt ../sam2.1_hiera_nano.safetensors [--bias 1.0]
"""
import argparse
import os

import torch
from safetensors.torch import save_file

import network

PRESENCE = "sam_mask_decoder.pred_obj_score_head.layers.2.bias"

if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoint")
    ap.add_argument("out", help=".safetensors (float16) or .pt (float32, upstream's form)")
    ap.add_argument("--bias", type=float, default=0., help="added to the object score: higher says 'gone' less often")
    a = ap.parse_args()
    state = {k: v.contiguous().clone() for k, v in network.load(a.checkpoint).items()}
    state[PRESENCE] += a.bias
    if a.out.endswith(".pt"):
        torch.save({"model": state}, a.out)
    else:
        save_file({k: v.half() if v.is_floating_point() else v for k, v in state.items()}, a.out)
    print(a.out, len(state), "tensors", sum(v.numel() for v in state.values()), "numbers", os.path.getsize(a.out), "bytes")
