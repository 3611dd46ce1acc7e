"""What the network should see of a video, computed by nothing of this project: ffmpeg's accurate conversion to RGB, then the
antialiased bilinear filter in float64. Reads one JSON object a line, {"files": […], "matrix": "auto", "upright": "", "size": S,
"frames": [n, …]}, with frames counted over all files, and answers each with a line {"count": n, "sizes": [[w, h], …], "file": "…"}:
values of 0 … 1, float64, frame after frame as 3×S×S."""
import json
import subprocess
import sys

import numpy as np


def pictures(path, matrix, upright):
    source = ["-framerate", "25"] if "%d" in path else []
    filters = f"{upright}scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp+bicubic:in_color_matrix={matrix}"
    out = subprocess.run(["ffmpeg", "-v", "fatal", "-nostdin", *source, "-i", path, "-vf", filters, "-vsync", "passthrough", "-pix_fmt", "rgb24",
                          "-c:v", "ppm", "-f", "image2pipe", "-"], check=True, stdout=subprocess.PIPE).stdout
    at = 0
    while at < len(out):
        head = out[at:at + 40].split(b"\n", 3)
        w, h = map(int, head[1].split())
        at += len(b"\n".join(head[:3])) + 1
        yield np.frombuffer(out, np.uint8, 3 * w * h, at).reshape(h, w, 3)
        at += 3 * w * h


def weights(size, out):
    """out × size: a triangle around the centre of each output pixel, of radius size/out, and 1 when enlarging."""
    scale = size / out
    centres = (np.arange(out)[:, None] + 0.5) * scale
    w = np.clip(1 - np.abs(np.arange(size)[None, :] + 0.5 - centres) / max(scale, 1.0), 0, None)
    return w / w.sum(axis=1, keepdims=True)


for number, line in enumerate(sys.stdin):
    task = json.loads(line)
    every = [p for path in task["files"] for p in pictures(path, task["matrix"], task["upright"])]
    chosen = [every[n] for n in task["frames"]]
    values = [np.einsum("yh,hwc,xw->cyx", weights(p.shape[0], task["size"]), p / 255.0, weights(p.shape[1], task["size"]), optimize=True) for p in chosen]
    name = f"{sys.argv[1]}/{number}.f64"
    np.stack(values).tofile(name)
    print(json.dumps({"count": len(every), "sizes": [[p.shape[1], p.shape[0]] for p in chosen], "file": name}), flush=True)
