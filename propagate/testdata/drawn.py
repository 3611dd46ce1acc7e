"""Records what torch makes of drawn masks of other sizes than the model's: drawn.json. Needs torch and pycocotools."""
import json

import numpy as np
import torch
from pycocotools import mask as coco

def rle(m):
    r = coco.encode(np.asfortranarray(m.astype(np.uint8)))
    return {"size": r["size"], "counts": r["counts"].decode()}

cases = []
for seed, (h, w, size) in enumerate([(97, 131, 64), (20, 30, 64), (64, 200, 64), (90, 64, 64), (33, 517, 128), (128, 40, 128), (1, 1, 64), (300, 200, 32)]):
    y, x = np.mgrid[:h, :w]
    m = ((y - h * 0.45) / (h * 0.33)) ** 2 + ((x - w * 0.6) / (w * 0.27)) ** 2 < 1
    m[:: max(2, h // 5), : w // 2] ^= True
    m[:, :: max(3, w // 7)] ^= True
    if h * w == 1:
        m[:] = True
    value = torch.nn.functional.interpolate(torch.tensor(m)[None, None].float(), size=(size, size), align_corners=False, mode="bilinear", antialias=True)[0, 0].numpy()
    ties = int((np.abs(value - 0.5) < 1e-6).sum())  # a last bit would decide these
    cases.append({"mask": rle(m), "size": size, "ties": ties, "want": rle(value >= 0.5)})
    print(h, w, size, "ties", ties, "set", int((value >= 0.5).sum()))
json.dump(cases, open("drawn.json", "w"), indent=1)
