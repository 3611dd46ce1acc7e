"""Writes torch's own frames for TestFramesEqualTorchs: python torch_resize.py (torch 2.x). Pixels follow a formula that the test knows."""
import numpy as np
import torch

for w, h, s in [(97, 61, 32), (21, 17, 32), (70, 20, 32), (853, 479, 16)]:
    y, x, c = np.mgrid[0:h, 0:w, 0:3]
    rgb = ((x * 7 + y * 13 + c * 50 + x * y % 97 * (x // 5 % 2)) % 256).astype(np.uint8)
    img = torch.from_numpy(rgb).permute(2, 0, 1)[None].float() / 255
    img = torch.nn.functional.interpolate(img, size=(s, s), mode="bilinear", antialias=True, align_corners=False)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    ((img - mean) / std).numpy().astype("<f4").tofile(f"torch_{w}x{h}_{s}.f32")
