"""The twin of seeded.go in Python: weights made up from a seed, the same to the last bit. Needs: pip install torch numpy"""

import math

import numpy as np
import torch


def uniform(name, count, seed):
    """count numbers in [-1, 1): one of splitmix64 each, from a key that is the FNV-1a hash of the name."""
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 % 2**64
    z = np.uint64(key ^ seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


# Under sharper attention to memories one number that is rounded otherwise would move a mask.
SHARP = ("cross_attn_image.q_proj.weight", "cross_attn_image.k_proj.weight")


def rule(name, shape):
    """(spread, middle) of a weight. Under these every part matters and logits stay within tens."""
    if name.endswith("pred_obj_score_head.layers.2.bias"):
        return 0, 6  # the object is there
    if name.endswith("running_var"):
        return 0.3, 1
    if name.endswith(".bn.weight"):
        return 0.1, 0.5  # of a convolution beside an identity: the whole neither grows nor fades
    if name.endswith("gamma"):
        return 0.1, 0.5
    if name in ("maskmem_tpos_enc", "no_obj_ptr", "no_obj_embed_spatial", "no_mem_embed"):
        return 0.5, 0
    if len(shape) < 2:
        return 0.1, 1 if name.endswith("weight") else 0
    spread = 1 / math.sqrt(math.prod(shape[1:]))
    if name.startswith("memory_attention.") and name.endswith("_proj.weight") and not name.endswith(SHARP):
        spread *= 2
    if name.startswith(("obj_ptr_proj.layers.2", "obj_ptr_tpos_proj")):
        spread *= 20
    if name.endswith("mask_downsampler.encoder.12.weight"):
        spread *= 3
    return spread, 0


def fill(model, seed):
    """Overwrites a torch module's state."""
    for name, tensor in model.state_dict().items():
        if name.endswith("num_batches_tracked"):
            tensor.zero_()
            continue
        spread, middle = rule(name, tensor.shape)
        values = np.float32(spread * math.sqrt(3)) * uniform(name, tensor.numel(), seed) + np.float32(middle)
        tensor.copy_(torch.from_numpy(values).reshape(tensor.shape))
