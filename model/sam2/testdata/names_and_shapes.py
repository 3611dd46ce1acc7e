"""Writes names_and_shapes.json.gz: for each published configuration every tensor of its state dict with its shape, as PyTorch
builds it.

  python names_and_shapes.py           with sam2 1.1.0: the eight configurations of facebookresearch/sam2
  python names_and_shapes.py edgetam   with edgetam-dimos 1.0.1 and timm in its place: EdgeTAM, added to the file
"""

import gzip
import json
import sys

import sam2  # sets hydra up
from hydra import compose
from hydra.utils import instantiate
from omegaconf import OmegaConf

path = "names_and_shapes.json.gz"


def shapes(config):
    OmegaConf.resolve(config)
    return {k: list(v.shape) for k, v in instantiate(config.model, _recursive_=True).state_dict().items()}


models = {}
if sys.argv[1:] == ["edgetam"]:
    import sam2.modeling.backbones.timm as trunk

    create = trunk.create_model
    trunk.create_model = lambda name, pretrained, **kw: create(name, pretrained=False, **kw)  # nothing to download
    with gzip.open(path) as f:
        models = json.load(f)
    models["edgetam"] = shapes(OmegaConf.load(sam2.__path__[0] + "/configs/edgetam.yaml"))
else:
    sizes = {"tiny": "t", "small": "s", "base_plus": "b+", "large": "l"}
    for version in ("sam2.1", "sam2"):
        for name, letter in sizes.items():
            models[f"{version}_hiera_{name}"] = shapes(compose(config_name=f"configs/{version}/{version}_hiera_{letter}.yaml"))

for name, tensors in models.items():
    print(name, len(tensors))
with gzip.GzipFile(path, "wb", mtime=0) as f:
    f.write(json.dumps(models).encode())
