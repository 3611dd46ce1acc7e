"""One training episode: prompt K objects on frame 0 of each clip, track them, and sum the losses over frames and masks."""
import numpy as np
import torch
import torch.nn.functional as F

from network import halved, pixels
from scenes import box_prompt, click_prompt


def prompts(r, masks, kind, centre=.5, slip=0.):
    """masks N,S,S bool -> (point inputs or None, mask inputs or None) in the predictor's form."""
    if kind == "mask":
        return None, torch.from_numpy(masks.astype(np.float32))[:, None]
    if kind == "box":
        points, labels = [box_prompt(r, m, slip=slip).reshape(2, 2) for m in masks], [[2, 3]] * len(masks)
    else:
        points, labels = [click_prompt(r, m, centre).reshape(1, 2) for m in masks], [[1]] * len(masks)
    return dict(point_coords=torch.from_numpy(np.stack(points)).float(),
                point_labels=torch.tensor(labels, dtype=torch.int32)), None


def correction(r, truth, guess):
    """A click per object into what is missing (1) or too much (0), with chance by area."""
    points, labels = [], []
    for g, p in zip(truth, guess):
        missing, extra = g & ~p, p & ~g
        a, b = missing.sum(), extra.sum()
        where, label = (g, 1) if a + b == 0 else (missing, 1) if r.random() * (a + b) < a else (extra, 0)
        points.append(click_prompt(r, where, .7).reshape(1, 2))
        labels.append([label])
    return torch.from_numpy(np.stack(points)).float(), torch.tensor(labels, dtype=torch.int32)


def mask_losses(logits, scores, truth):
    """logits N,M,h,w; scores N,M; truth N,1,h,w: covered share of each cell -> loss N,M, score loss N,M.

    What is measured in the end is J, so that is what is learned: its soft form leads. The cross-entropy, summed and
    divided by the object's size, only pulls where the soft form is flat; at full weight it prefers an empty cell to a
    doubtful one, and the masks shrink.
    """
    x, t = logits.float().flatten(2), truth.flatten(2)
    p = x.sigmoid()
    area, both = t.sum(2), (p * t).sum(2)
    ce = F.binary_cross_entropy_with_logits(x, t.expand_as(x), reduction="none").sum(2) / (2 * area + 40)
    soft = 1 - (both + 1) / (p.sum(2) + area - both + 1)
    with torch.no_grad():
        a, b = x > 0, t > .5
        real = (a & b).sum(2).float() / (a | b).sum(2).clamp(min=1).float()
    return soft + .08 * ce, (scores.float() - real).abs()


def encode(model, frames):
    """frames uint8 N,S,S,3 -> feature levels N,C,h,w (channels last) and their positions."""
    x = pixels(frames).bfloat16().contiguous(memory_format=torch.channels_last)
    out = model.image_encoder(x)
    fpn, decoder = out["backbone_fpn"], model.sam_mask_decoder
    return [decoder.conv_s0(fpn[0]), decoder.conv_s1(fpn[1]), fpn[2]], out["vision_pos_enc"][:3]


def run(model, raw, frames, masks, kind, r, correct=False):
    """frames uint8 B,T,S,S,3; masks bool B,T,K,S,S -> (loss, J per frame, median of drawn over true area)."""
    with halved(model), torch.autocast("cpu", dtype=torch.bfloat16):
        return tracked(model, raw, frames, masks, kind, r, correct)


def tracked(model, raw, frames, masks, kind, r, correct):
    B, T, K, S = masks.shape[:4]
    N = B * K
    fpn, positions = encode(model, frames.reshape(B * T, *frames.shape[2:]))
    sizes = [tuple(f.shape[-2:]) for f in fpn]
    fpn = [f.permute(0, 2, 3, 1).reshape(B, T, -1, f.shape[1]) for f in fpn]  # B,T,hw,C
    positions = [p[:1].flatten(2).permute(2, 0, 1).expand(-1, N, -1) for p in positions]
    targets = masks.transpose(0, 2, 1, 3, 4).reshape(N, T, S, S)
    cover = F.avg_pool2d(torch.from_numpy(targets.astype(np.float32)), 4)  # N,T,S/4,S/4
    seen = torch.from_numpy(targets.reshape(N, T, -1).any(2))
    memory = dict(cond_frame_outputs={}, non_cond_frame_outputs={})
    loss, J, swell = 0., [], []
    for t in range(T):
        features = [f[:, t].repeat_interleave(K, 0).transpose(0, 1) for f in fpn]
        truth, here = cover[:, t][:, None], seen[:, t]

        def add(single, weight=1.):
            logits, scores, _, _ = raw.out
            ml, sl = mask_losses(logits, scores, truth)
            best = ml[:, 1:].min(1).values
            if single:
                ml = ml[:, 0] + .3 * best + .1 * ml[:, 1:].mean(1)
            elif t == 0:
                ml = .5 * ml[:, 0] + best + .1 * ml[:, 1:].mean(1)
            else:
                ml = .4 * ml[:, 0] + .6 * best + .4 * ml[:, 1:].mean(1)
            weight = weight * (2. if t == 0 and T > 1 else 1.)  # a poor first frame is poor for good
            return weight * ((ml + sl.mean(1)) * here).sum() / here.sum().clamp(min=1)

        points = given = None
        if t == 0:
            points, given = prompts(r, targets[:, 0], kind, centre=.25, slip=.7)
        out, heads, _, _ = model._track_step(t, t == 0, features, positions, sizes, points, given, memory, 10000,
                                             False, None)
        if given is None:
            loss = loss + add(single=points is not None and kind == "box")
            presence = raw.out[3].float()[:, 0]
            loss = loss + F.binary_cross_entropy_with_logits(presence, here.float())
        if t == 0 and correct and points is not None:
            more = correction(r, targets[:, 0], (heads[4][:, 0] > 0).detach().numpy())
            points = dict(point_coords=torch.cat([points["point_coords"], more[0]], 1),
                          point_labels=torch.cat([points["point_labels"], more[1]], 1))
            out, heads, _, _ = model._track_step(t, True, features, positions, sizes, points, None, memory, 10000,
                                                 False, heads[3].detach())
            loss = loss + add(single=True, weight=.7)
        low, high, pointer, presence = heads[3:7]
        with torch.no_grad():
            a, b = low[:, 0] > 0, truth[:, 0] > .5
            i, u = (a & b).flatten(1).sum(1).float(), (a | b).flatten(1).sum(1).float()
            J.append(float((i / u.clamp(min=1))[here].mean()))
            swell.append((a.flatten(1).sum(1) / b.flatten(1).sum(1).clamp(min=1))[here])
        out["pred_masks"], out["pred_masks_high_res"], out["obj_ptr"] = low, high, pointer
        if t < T - 1:
            model._encode_memory_in_output(features, sizes, points, True, high, presence, out)
            memory["cond_frame_outputs" if t == 0 else "non_cond_frame_outputs"][t] = out
    return loss / T, J, float(torch.cat(swell).median())
