"""Record what facebookresearch/sam2 answers, module by module, for the tests of model/ort.

usage: record.py MODEL.yaml MODEL.pt SESSION.safetensors OUT.safetensors
Reads 00000.png … beside this file. SESSION is a recorded session with one box on frame 0 and the modules of that frame.
Needs: pip install torch sam2 safetensors pillow omegaconf
"""
import os, sys
import numpy as np, torch
from PIL import Image
from omegaconf import OmegaConf
from hydra.utils import instantiate
from safetensors.torch import load_file, save_file

cfg = OmegaConf.load(sys.argv[1]).model
cfg.sam_mask_decoder_extra_args = dict(dynamic_multimask_via_stability=True, dynamic_multimask_stability_delta=0.05, dynamic_multimask_stability_thresh=0.98)
cfg.binarize_mask_from_pts_for_mem_enc = True
model = instantiate(cfg, _recursive_=True).eval()
model.load_state_dict(torch.load(sys.argv[2], map_location="cpu", weights_only=True)["model"])
session = load_file(sys.argv[3])
out = {}

# A session that goes from frame to frame.
for i in range(3):
    level = session[f"modules/fpn/{i}"]
    out[f"level/{i}"] = level[:, ::4].contiguous()  # every fourth channel
for frame in range(4):
    for what in ("low_res_logits", "object_pointer", "object_score_logit"):
        out[f"session/{frame}/{what}"] = session[f"1/{frame}/1/{what}"]


def pixels(i):
    p = torch.from_numpy(np.array(Image.open(f"{os.path.dirname(os.path.abspath(__file__))}/{i:05}.png").convert("RGB"))).permute(2, 0, 1).float() / 255
    return ((p - torch.tensor([0.485, 0.456, 0.406])[:, None, None]) / torch.tensor([0.229, 0.224, 0.225])[:, None, None])[None]


g = torch.Generator().manual_seed(5)
with torch.inference_mode():
    backbone = model.forward_image(pixels(0))
    _, feats, pos, sizes = model._prepare_backbone_features(backbone)
    c, s, h = model.hidden_dim, model.image_size, sizes[-1][0]
    high = [f.permute(1, 2, 0).view(1, -1, *z) for f, z in zip(feats[:-1], sizes[:-1])]
    raw = feats[-1].permute(1, 2, 0).view(1, c, h, h)
    fresh = raw + model.no_mem_embed.view(1, c, 1, 1)

    # Prompts on a frame without memory: points, labels, previous logits, multimask.
    click = ([[190.0, 128.0]], [1])
    prompts = [
        (*click, None, True),
        (*click, None, False),
        ([[190.0, 128.0], [20.5, 30.25]], [1, 0], None, False),
        ([[60.0, 60.0], [140.0, 210.0], [100.0, 100.0]], [2, 3, 1], None, False),
        ([], [], None, True),
        ([[120.0, 90.0], [30.0, 200.0]], [0, 1], "0", False),
        ([[250.0, 4.0]], [1], "2", True),
    ]

    fallen = []  # whether token 0 was unstable
    stability = model.sam_mask_decoder._get_stability_scores
    model.sam_mask_decoder._get_stability_scores = lambda x: (fallen.append(bool((stability(x) < 0.98).any())), stability(x))[1]

    def note(name, r):
        _, _, ious, low, _, ptr, score = r
        out[name + "/logits"], out[name + "/pointer"], out[name + "/score"] = low[0, 0].contiguous(), ptr[0].contiguous(), score[0].contiguous()
        out[name + "/iou"] = ious.max().reshape(1)
        print(name, "fell back" if fallen and fallen[-1] else "", round(float(score), 2))

    for i, (points, labels, previous, multimask) in enumerate(prompts):
        p = None
        if points:
            p = {"point_coords": torch.tensor([points]), "point_labels": torch.tensor([labels], dtype=torch.int32)}
        dense = None if previous is None else out[f"prompt/{previous}/logits"][None, None].clamp(-32, 32)
        note(f"prompt/{i}", model._forward_sam_heads(fresh, p, dense, high, multimask))

    # Drawn masks: an ellipse, and nothing.
    y, x = torch.meshgrid(torch.arange(s).float(), torch.arange(s).float(), indexing="ij")
    for i, mask in enumerate((((x - 150) / 60) ** 2 + ((y - 100) / 35) ** 2 < 1, x < 0)):
        note(f"mask/{i}", model._use_mask_as_output(raw, high, mask[None, None].float()))

    # Memories of three kinds of mask, and attention to some of them.
    logits = torch.stack([out["prompt/0/logits"], out["prompt/1/logits"], torch.full((h * 4, h * 4), -1024.0)])
    memories = []
    for i, (hard, score) in enumerate(((True, 3.0), (False, 0.5), (False, -2.0))):
        full = torch.nn.functional.interpolate(logits[i][None, None], size=(s, s), mode="bilinear", align_corners=False)
        m, place = model._encode_new_memory(feats, sizes, full, torch.tensor([[score]]), hard)
        memories.append(m.to(torch.bfloat16).flatten(2).permute(0, 2, 1))
        out[f"memory/{i}"] = memories[-1][0].contiguous()
    place = place[-1].flatten(2).permute(2, 0, 1)
    pointers = torch.stack([out[f"prompt/{i}/pointer"] for i in range(3)])

    from sam2.modeling.sam2_utils import get_1d_sine_pe
    for i, (which, rows, ptrs, distances) in enumerate((
            ([0, 1, 2], [6, 1, 0], [0, 2], [9.0, 1.0]),
            ([0, 2], [6, 5], [], []),
            ([], [], [0, 1, 2], [40.0, 15.0, 2.0]))):
        parts, places = [], []
        for k, row in zip(which, rows):
            parts.append(memories[k].float().permute(1, 0, 2))
            places.append(place + model.maskmem_tpos_enc[row])
        pieces = c // model.mem_dim
        if ptrs:
            parts.append(pointers[ptrs].reshape(-1, 1, model.mem_dim))
            t = model.obj_ptr_tpos_proj(get_1d_sine_pe(torch.tensor(distances) / 15, dim=c))
            places.append(t[:, None].repeat_interleave(pieces, 0))
        r = model.memory_attention(curr=feats[-1:], curr_pos=pos[-1:], memory=torch.cat(parts), memory_pos=torch.cat(places), num_obj_ptr_tokens=len(ptrs) * pieces)
        out[f"attention/{i}"] = r.permute(1, 2, 0).reshape(c, h, h)[::4].contiguous()  # every fourth channel

# A larger square, 40×40 cells, of noise: attention runs in blocks there.
cfg.image_size = 640
model = instantiate(cfg, _recursive_=True).eval()
model.load_state_dict(torch.load(sys.argv[2], map_location="cpu", weights_only=True)["model"])
noise, state = np.empty(3 * 640 * 640, np.float32), 1
for i in range(noise.size):
    state = (state * 1664525 + 1013904223) % 2**32
    noise[i] = (state >> 16) / 32768 - 1
with torch.inference_mode():
    backbone = model.forward_image(torch.from_numpy(noise).view(1, 3, 640, 640))
    _, feats, pos, sizes = model._prepare_backbone_features(backbone)
    h = sizes[-1][0]
    out["large/level"] = feats[-1].permute(1, 2, 0).view(1, -1, h, h)[:, ::16].contiguous()
    m = torch.sin(torch.arange(h * h * model.mem_dim).float()).to(torch.bfloat16).float().view(h * h, 1, model.mem_dim)
    place = model.memory_encoder.position_encoding(torch.zeros(1, model.mem_dim, h, h)).flatten(2).permute(2, 0, 1) + model.maskmem_tpos_enc[6]
    r = model.memory_attention(curr=feats[-1:], curr_pos=pos[-1:], memory=m, memory_pos=place, num_obj_ptr_tokens=0)
    out["large/attention"] = r.permute(1, 2, 0).reshape(1, -1, h, h)[:, ::16].contiguous()

save_file(out, sys.argv[4])
