"""Record what the reference answers with seeded weights (model/seeded), for the tests of this repository.

usage: record.py CONFIG.yaml MODEL SCRIPT.json OUT FRAMES KEEP
Reads FRAMES frames and writes OUT.expected.json (masks) and OUT.safetensors (every KEEP-th row and column of the low-resolution logits), and adds the
names and shapes of MODEL's weights to shapes.json.gz here where its configuration is one of this folder.
The frames are those of ../random64/frames, every pixel repeated to the model's size.
Needs: pip install torch torchvision safetensors pycocotools pillow hydra-core iopath, and sam2 (pip install --no-deps sam2==1.1.0)
or, for EdgeTAM, in an environment of its own, edgetam-dimos and timm (both --no-deps).
"""

import gzip
import json
import os
import sys
import tempfile

import numpy as np
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from PIL import Image
from pycocotools import mask as coco
from safetensors.torch import save_file

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(here + "/../../../model/seeded")
import seeded  # noqa: E402

SEED = 1


def build(path, options):
    try:  # EdgeTAM: do not download the trunk's weights
        import sam2.modeling.backbones.timm as trunk

        create = trunk.create_model
        trunk.create_model = lambda name, pretrained, **kw: create(name, pretrained=False, **kw)
    except ImportError:
        pass
    config = OmegaConf.load(path).model
    config._target_ = "sam2.sam2_video_predictor.SAM2VideoPredictor"
    config.sam_mask_decoder_extra_args = dict(
        dynamic_multimask_via_stability=True, dynamic_multimask_stability_delta=0.05, dynamic_multimask_stability_thresh=0.98
    )
    config.binarize_mask_from_pts_for_mem_enc = True
    config.update(options)
    model = instantiate(config, _recursive_=True).eval()
    seeded.fill(model, SEED)
    # Memories are kept as bfloat16, which fails where no pointer takes part: widen them on use. Distances in time are always
    # divided by 15, as in a clip of 16 frames and more.
    prepare = model._prepare_memory_conditioned_features

    def widened(*args, **kw):
        kw["num_frames"] = max(16, kw["num_frames"])
        for kind in ("cond_frame_outputs", "non_cond_frame_outputs"):
            for o in kw["output_dict"][kind].values():
                if o.get("maskmem_features") is not None:
                    o["maskmem_features"] = o["maskmem_features"].float()
        return prepare(*args, **kw)

    model._prepare_memory_conditioned_features = widened
    if getattr(model, "spatial_perceiver", None) is not None:  # it fails on a batch
        perceive = model.spatial_perceiver.forward

        def one_by_one(x, pos):
            each = [perceive(x[i : i + 1], pos[i : i + 1]) for i in range(len(x))]
            return torch.cat([e[0] for e in each]), torch.cat([e[1] for e in each])

        model.spatial_perceiver.forward = one_by_one
    return model


def frames(size, count):
    mean, deviation = torch.tensor([0.485, 0.456, 0.406])[:, None, None], torch.tensor([0.229, 0.224, 0.225])[:, None, None]
    out = []
    for i in range(count):
        picture = np.array(Image.open(f"{here}/../random64/frames/{i:05}.png").convert("RGB"))
        times = size // picture.shape[0]
        picture = picture.repeat(times, axis=0).repeat(times, axis=1)
        out.append((torch.from_numpy(picture).permute(2, 0, 1).float() / 255 - mean) / deviation)
    return torch.stack(out)


def start(model, pictures, width, height):
    with tempfile.TemporaryDirectory() as folder:
        for i in range(len(pictures)):
            Image.new("RGB", (8, 8)).save(f"{folder}/{i}.jpg")
        model._get_image_feature, warm_up = lambda *a, **k: None, model._get_image_feature
        state = model.init_state(folder)
        model._get_image_feature = warm_up
    state["images"], state["video_width"], state["video_height"] = pictures, width, height
    return state


def run(model, script, count, keep):
    width, height = script["video_size"]
    state = start(model, frames(model.image_size, count), width, height)
    lines, tensors = [], {}

    def note(step, frame, ids, logits):
        masks = [coco.encode(np.asfortranarray((m[0] > 0).numpy().astype(np.uint8))) for m in logits]
        lines.append(
            {"step": step, "frame": frame, "objects": list(ids), "masks": [{"size": m["size"], "counts": m["counts"].decode()} for m in masks]}
        )
        for o in ids:
            at = state["obj_id_to_idx"][o]
            stores = [s[at][kind] for s in (state["temp_output_dict_per_obj"], state["output_dict_per_obj"]) for kind in ("cond_frame_outputs", "non_cond_frame_outputs")]
            result = next((s[frame] for s in stores if frame in s), None)
            if result is not None:
                tensors[f"{step}/{frame}/{o}/low_res_logits"] = result["pred_masks"][0, 0, ::keep, ::keep].clone().contiguous()
        print(step, frame, [int(coco.area(m)) for m in masks], [round(float(t.std()), 2) for t in list(tensors.values())[-len(ids) :]], flush=True)

    for step, s in enumerate(script["steps"]):
        if s["op"] == "add_points_or_box":
            note(step, *model.add_new_points_or_box(state, s["frame"], s["object"], points=s.get("points"), labels=s.get("labels"), box=s.get("box")))
        elif s["op"] == "propagate":
            for answer in model.propagate_in_video(state, s.get("start_frame"), s.get("max_frames"), s.get("reverse", False)):
                note(step, *answer)
        else:
            raise ValueError(s["op"])
    return lines, tensors


if __name__ == "__main__":
    path, name, script_path, out, count, keep = sys.argv[1:]
    script = json.load(open(script_path))
    model = build(path, script["options"])
    if os.path.dirname(os.path.abspath(path)) == here:
        shapes_path = here + "/shapes.json.gz"
        shapes = json.loads(gzip.open(shapes_path).read()) if os.path.exists(shapes_path) else {}
        shapes[name] = {k: list(v.shape) for k, v in model.state_dict().items()}
        with gzip.GzipFile(shapes_path, "wb", mtime=0) as f:
            f.write(json.dumps(shapes, sort_keys=True).encode())
    with torch.inference_mode():
        lines, tensors = run(model, script, int(count), int(keep))
    json.dump(lines, open(out + ".expected.json", "w"), indent=0)
    save_file(tensors, out + ".safetensors")
