"""Track hand-prompted objects through the held-out real clips with upstream's video predictor; write contact sheets.

    python sheets.py weights --clips DIR [DIR ...] --out DIR [--size 256] [--only bedroom,06_pingpong]
"""
import argparse
import os
import tempfile

import cv2
import numpy as np
import torch

import network

# clip: {object: prompt in the clip's own pixels on frame 0}
OBJECTS = {
    "bedroom": {"girl": dict(box=(310, 0, 515, 400)), "boy": dict(box=(145, 133, 292, 406)),
                "girl, click": dict(click=(400, 155))},
    "05_default_juggle": {"ball": dict(box=(613, 283, 693, 361)), "man": dict(box=(600, 45, 833, 672)),
                          "ball, click": dict(click=(653, 322))},
    "06_pingpong": {"man": dict(box=(760, 138, 1045, 530)), "ball": dict(box=(799, 473, 832, 506))},
}
# Circles drawn by hand around the juggled ball: frame -> x, y, radius.
BALL = {0: (653, 322, 39), 8: (672, 266, 39), 16: (696, 531, 42), 24: (729, 437, 42), 32: (748, 535, 43), 40: (704, 458, 40)}


def read(file, n):
    video, out = cv2.VideoCapture(file), []
    while len(out) < n:
        ok, frame = video.read()
        if not ok:
            break
        out.append(frame)
    return out


def track(model, frames, objects):
    """masks bool: objects, frames, H, W."""
    with tempfile.TemporaryDirectory() as d:
        for i, f in enumerate(frames):
            cv2.imwrite(f"{d}/{i:05d}.jpg", f, [cv2.IMWRITE_JPEG_QUALITY, 92])
        state = model.init_state(d)
    for k, prompt in enumerate(objects.values()):
        if "box" in prompt:
            how = dict(box=np.array(prompt["box"], np.float32))
        else:
            how = dict(points=np.array([prompt["click"]], np.float32), labels=np.array([1], np.int32))
        model.add_new_points_or_box(state, frame_idx=0, obj_id=k, **how)
    out = np.zeros((len(objects), len(frames), *frames[0].shape[:2]), bool)
    for f, _, logits in model.propagate_in_video(state):
        out[:, f] = (logits[:, 0] > 0).numpy()
    return out


def sheet(frames, masks, objects, show=8, width=240):
    rows = []
    for (name, prompt), m in zip(objects.items(), masks):
        row = []
        for i in np.linspace(0, len(frames) - 1, show).astype(int):
            v = frames[i].copy()
            v[m[i]] = (v[m[i]] * .45 + np.array([0, 255, 0]) * .55).astype(np.uint8)
            if i == 0 and "box" in prompt:
                cv2.rectangle(v, prompt["box"][:2], prompt["box"][2:], (0, 255, 255), 4)
            elif i == 0:
                cv2.circle(v, prompt["click"], 12, (0, 255, 255), -1)
            v = cv2.resize(v, (width, v.shape[0] * width // v.shape[1]), interpolation=cv2.INTER_AREA)
            cv2.putText(v, f"{name} {i}", (4, 13), 0, .42, (0, 0, 255), 1, cv2.LINE_AA)
            row.append(v)
        rows += [cv2.hconcat(row[:show // 2]), cv2.hconcat(row[show // 2:])]
    return cv2.vconcat(rows)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("weights")
    ap.add_argument("--clips", nargs="+", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--frames", type=int, default=48)
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    torch.set_num_threads(1)
    model = network.build(a.weights, a.size, predictor=True).eval()
    os.makedirs(a.out, exist_ok=True)
    for clip, objects in OBJECTS.items():
        if a.only and clip not in a.only.split(","):
            continue
        file = next(f for d in a.clips if os.path.exists(f := os.path.join(d, clip + ".mp4")))
        frames = read(file, a.frames)
        with torch.inference_mode():
            masks = track(model, frames, objects)
        cv2.imwrite(os.path.join(a.out, clip + ".jpg"), sheet(frames, masks, objects), [cv2.IMWRITE_JPEG_QUALITY, 80])
        areas = {name: [int(m[i].sum()) for i in (0, len(frames) // 2, len(frames) - 1)] for name, m in zip(objects, masks)}
        print(clip, "areas on the first, middle and last frame:", areas, flush=True)
        if clip == "05_default_juggle":
            J = []
            for f, (x, y, radius) in BALL.items():
                g = cv2.circle(np.zeros(frames[0].shape[:2], np.uint8), (x, y), radius, 1, -1) > 0
                J.append(round(float((masks[0, f] & g).sum() / (masks[0, f] | g).sum()), 2))
            print("juggled ball, J at frames", *BALL, "is", *J)
