"""Writes the checkpoints of this folder, each a form of file that occurs, and expected.json with what is in them.

Needs torch (2.5) and safetensors:  python make.py
"""

import collections
import json
import zipfile

import torch
from safetensors.torch import save_file


def values(*shape, dtype=torch.float32):
    n = 1
    for s in shape:
        n *= s
    return ((torch.arange(n, dtype=torch.float32) - n // 2) / 8).reshape(shape).to(dtype)


def special(dtype):
    """Signed zeros, the smallest and largest numbers, infinities."""
    info = torch.finfo(dtype)
    subnormal = info.smallest_normal / 4
    return torch.tensor([0.0, -0.0, subnormal, -subnormal, info.smallest_normal, info.max, info.min, torch.inf, -torch.inf]).to(dtype)


def record(name, tensors):
    expected[name] = {
        k: {"dtype": names[v.dtype], "shape": list(v.shape), "values": bits(v)} for k, v in tensors.items()
    }


def bits(tensor):
    """The values as the bits of their float32, None where they are no weight."""
    if not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return None
    return tensor.detach().float().contiguous().view(torch.int32).flatten().tolist()


names = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL",
}
expected = {}

plain = collections.OrderedDict(weight=values(2, 3), bias=values(5), scalar=torch.tensor(0.5), none=torch.zeros(0, 4))
for protocol in (2, 3, 4, 5):
    torch.save(plain, f"protocol{protocol}.pt", pickle_protocol=protocol)
    record(f"protocol{protocol}.pt", plain)

half = {"weight": values(3, 2, dtype=torch.float16), "special": special(torch.float16)}
torch.save({"model": half}, "float16.pt")
record("float16.pt", half)

brain = {"weight": values(3, 2, dtype=torch.bfloat16), "special": special(torch.bfloat16)}
torch.save({"state_dict": brain, "epoch": 3, "best": 0.25, "note": "über", "sizes": [1, (2, None), True, -1, 2**40]}, "bfloat16.pt")
record("bfloat16.pt", brain)

buffers = {"weight": values(4), "num_batches_tracked": torch.tensor(7), "double": values(2, dtype=torch.float64),
           "int": torch.tensor([1, 2], dtype=torch.int32), "mask": torch.tensor([True, False])}
torch.save(buffers, "buffers.pt")
record("buffers.pt", buffers)

parameters = {"weight": torch.nn.Parameter(values(2, 2)), "frozen": torch.nn.Parameter(values(3), requires_grad=False)}
torch.save(parameters, "parameters.pt")
record("parameters.pt", parameters)

module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
for p in module.parameters():
    p.data = values(*p.shape)
torch.save(module.state_dict(), "module.pt")
record("module.pt", module.state_dict())

base = values(4, 6)
views = {"base": base, "transposed": base.t(), "row": base[2], "column": base[:, 1], "corner": base[1:3, 2:5],
         "permuted": values(2, 3, 4).permute(2, 0, 1), "tail": base.flatten()[20:]}
torch.save(views, "views.pt")
record("views.pt", views)

with zipfile.ZipFile("protocol2.pt") as source, zipfile.ZipFile("deflated.pt", "w", zipfile.ZIP_DEFLATED) as packed:
    for member in source.namelist():
        packed.writestr(member, source.read(member))
record("deflated.pt", plain)

mixed = {"f32": values(2, 3), "f16": special(torch.float16), "bf16": special(torch.bfloat16), "i64": torch.tensor([1, 2]),
         "scalar": torch.tensor(0.5), "none": torch.zeros(0, 4)}
save_file(mixed, "mixed.safetensors", metadata={"format": "pt"})
record("mixed.safetensors", mixed)

torch.save(plain, "legacy.pt", _use_new_zipfile_serialization=False)
torch.save(torch.nn.Linear(2, 2), "whole_module.pt")
torch.jit.script(torch.nn.Linear(2, 2)).save("torchscript.pt")

json.dump(expected, open("expected.json", "w"), indent=0)
