"""Writes names_and_shapes.json.gz: for each published configuration of facebookresearch/sam2 every tensor of its state dict
with its shape, as PyTorch builds it. Needs sam2 1.1.0:  python names_and_shapes.py
"""

import gzip
import json

from hydra import compose
from hydra.utils import instantiate
from omegaconf import OmegaConf

import sam2  # noqa: F401, sets hydra up

sizes = {"tiny": "t", "small": "s", "base_plus": "b+", "large": "l"}
models = {}
for version in ("sam2.1", "sam2"):
    for name, letter in sizes.items():
        config = compose(config_name=f"configs/{version}/{version}_hiera_{letter}.yaml")
        OmegaConf.resolve(config)
        model = instantiate(config.model, _recursive_=True)
        models[f"{version}_hiera_{name}"] = {k: list(v.shape) for k, v in model.state_dict().items()}
        print(version, name, len(models[f"{version}_hiera_{name}"]))

with gzip.GzipFile("names_and_shapes.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps(models).encode())
