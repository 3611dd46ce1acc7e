"""Mean J (intersection over union) on held-out clips, by prompt kind and by frame, with upstream's own track step.

    python evaluate.py weights --val clips.npz [--size 256] [--frames 6] [--by-clip 1]
"""
import argparse
import json

import cv2
import numpy as np
import torch
import torch.nn.functional as F

import network
from episode import prompts

KINDS = ("box", "click", "mask")


def clips(npz):
    """frames uint8 N,T,S,S,3 (BGR) and masks bool N,T,S,S."""
    d = np.load(npz)
    return d["frames"], np.unpackbits(d["masks"], axis=-1).astype(bool)[..., :d["frames"].shape[3]]


@torch.no_grad()
def measure(model, held_out, size=256, rank=0, world=1, kinds=KINDS):
    """Sums to add up over ranks: per kind J by clip and frame (N,T, -1 where the object is absent; zero for the other
    ranks' clips), and presence: 2x2 counts [is there][said to be there] over frames 1 and on of all kinds."""
    model.eval()
    network.set_size(model, size)
    frames, masks = held_out
    N, T = frames.shape[:2]
    out = {k: np.zeros((N, T)) for k in kinds}
    out["presence"] = np.zeros((2, 2))
    for c in range(rank, N, world):
        V, M = frames[c], masks[c]
        if V.shape[1] != size:
            V = np.stack([cv2.resize(v, (size, size), interpolation=cv2.INTER_AREA if size < V.shape[1] else cv2.INTER_LINEAR) for v in V])
        scale = size / M.shape[-1]
        features = [model._prepare_backbone_features(model.forward_image(network.pixels(v[None])))[1:] for v in V]
        for k in kinds:
            memory = dict(cond_frame_outputs={}, non_cond_frame_outputs={})
            for t in range(T):
                points = given = None
                if t == 0:
                    points, given = prompts(np.random.default_rng(1000 + c), M[:1], k)
                    if points is not None:
                        points["point_coords"] *= scale
                    elif scale != 1:
                        given = (F.interpolate(given, size=(size, size), mode="bilinear", antialias=True) > .5).float()
                levels, positions, sizes = features[t]
                o = model.track_step(t, t == 0, list(levels), list(positions), sizes, points, given, memory, T)
                memory["cond_frame_outputs" if t == 0 else "non_cond_frame_outputs"][t] = o
                up = F.interpolate(o["pred_masks"], size=M.shape[-2:], mode="bilinear", align_corners=False)
                p, g = (up[0, 0] > 0).numpy(), M[t]
                out[k][c, t] = (p & g).sum() / (p | g).sum() if g.any() else -1
                if t:
                    out["presence"][int(g.any()), int(o["object_score_logits"].item() > 0)] += 1
    return out


def mean(J):
    return round(float(J[J >= 0].mean()), 3)


def summary(result):
    out = {k: dict(first=mean(v[:, :1]), later=mean(v[:, 1:]), last4=mean(v[:, -4:])) for k, v in result.items()
           if k != "presence"}
    (noticed, missed), (false, _) = result["presence"]
    return dict(**out, absent=f"{int(noticed)} of {int(noticed + missed)} noticed",
                false=f"{int(false)} of {int(result['presence'][1].sum())}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("weights")
    ap.add_argument("--val", required=True)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--frames", type=int, default=0, help="of each clip; a few are enough to see where training goes")
    ap.add_argument("--bias", type=float, default=0., help="added to the object score")
    ap.add_argument("--by-clip", type=int, default=0)
    a = ap.parse_args()
    torch.set_num_threads(1)
    model = network.build(a.weights, a.size)
    with torch.no_grad():
        model.sam_mask_decoder.pred_obj_score_head.layers[-1].bias += a.bias
    frames, masks = clips(a.val)
    result = measure(model, (frames[:, :a.frames or None], masks[:, :a.frames or None]), a.size)
    print(json.dumps(summary(result)))
    for k in KINDS:
        v = result[k]
        print(f"{k:6s} by frame", *(f"{mean(v[:, t:t + 1]):.2f}" for t in range(v.shape[1])))
        if a.by_clip:
            print(f"{k:6s} by clip ", *(f"{mean(row[None, 1:]):.2f}" for row in v))
