"""Build the nano model from its YAML with upstream's own classes, at any working size, for training or tracking."""
import os

import torch
import torch.nn.functional as F
from hydra.utils import instantiate
from omegaconf import OmegaConf
from sam2.modeling.sam2_utils import LayerNorm2d
from torch.nn.utils.stateless import _reparametrize_module

YAML = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sam2.1_hiera_nano.yaml")
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)


def build(weights="", size=256, predictor=False, postprocess=True):
    """The model with the weights of a .pt or .safetensors file; predictor=True gives upstream's video predictor."""
    cfg = OmegaConf.load(YAML)
    cfg.model.image_size = size
    for attention in (cfg.model.memory_attention.layer.self_attention, cfg.model.memory_attention.layer.cross_attention):
        attention.feat_sizes = [size // 16, size // 16]
    if predictor:
        cfg.model._target_ = "sam2.sam2_video_predictor.SAM2VideoPredictor"
        if postprocess:
            cfg.model.sam_mask_decoder_extra_args = dict(dynamic_multimask_via_stability=True,
                                                         dynamic_multimask_stability_delta=0.05,
                                                         dynamic_multimask_stability_thresh=0.98)
            cfg.model.binarize_mask_from_pts_for_mem_enc = True
            cfg.model.fill_hole_area = 0  # upstream needs CUDA for it
    OmegaConf.resolve(cfg)
    model = instantiate(cfg.model, _recursive_=True)
    if weights:
        model.load_state_dict(load(weights))
    return model


def load(weights):
    """The float32 state dict of a .safetensors file, of a {'model': ...} file, or of a training checkpoint (its EMA)."""
    if weights.endswith(".safetensors"):
        from safetensors.torch import load_file
        state = load_file(weights)
    else:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        state = state.get("ema", state.get("model", state))
    return {k: v.float() if v.is_floating_point() else v for k, v in state.items()}


def set_size(model, size):
    """The same weights at another working resolution."""
    f = size // 16
    model.image_size, model.sam_image_embedding_size = size, f
    prompts = model.sam_prompt_encoder
    prompts.input_image_size, prompts.image_embedding_size, prompts.mask_input_size = (size, size), (f, f), (4 * f, 4 * f)


def pixels(frames):
    """uint8 BGR N,S,S,3 -> normalised RGB float N,3,S,S."""
    x = torch.from_numpy(frames[..., ::-1].copy()).permute(0, 3, 1, 2).float() / 255.
    return (x - MEAN) / STD


class plain_attention:
    """Context: attention by plain matrix products, since the fused bfloat16 backward pass is slow on CPUs."""

    def __enter__(self):
        self.fused = F.scaled_dot_product_attention

        def attend(q, k, v, dropout_p=0.0, **kw):
            if not torch.is_grad_enabled():
                return self.fused(q, k, v, dropout_p=dropout_p, **kw)
            a = torch.matmul(q * (q.shape[-1] ** -.5), k.transpose(-2, -1))
            return torch.matmul(a.float().softmax(-1).to(v.dtype), v)

        F.scaled_dot_product_attention = attend
        return self

    def __exit__(self, *_):
        F.scaled_dot_product_attention = self.fused


def quicken(model):
    """Makes the slow spots quick on a CPU without changing what they compute: norms over channels as one operation on
    channels-last pictures, and depthwise convolutions in float32 (oneDNN's bfloat16 backward pass is three times
    slower)."""
    def norm(m):
        return lambda x: F.layer_norm(x.to(m.weight.dtype).permute(0, 2, 3, 1), m.weight.shape, m.weight, m.bias,
                                      m.eps).permute(0, 3, 1, 2)

    def depthwise(m):
        def forward(x):
            with torch.autocast("cpu", enabled=False):
                y = x.float().contiguous(memory_format=torch.channels_last)
                return F.conv2d(y, m.weight, m.bias, m.stride, m.padding, m.dilation, m.groups).to(x.dtype)
        return forward

    def same(m):
        return lambda x: F.layer_norm(x.to(m.weight.dtype), m.normalized_shape, m.weight, m.bias, m.eps)

    for m in model.modules():
        if isinstance(m, LayerNorm2d):
            if m.weight.numel() > 4:  # the fused norm is five times slower than upstream's formula on four channels
                m.forward = norm(m)
        elif isinstance(m, torch.nn.LayerNorm):
            m.forward = same(m)
        elif isinstance(m, torch.nn.Conv2d) and m.groups > 1:
            m.forward = depthwise(m)


def halved(model):
    """Context: the model on bfloat16 copies of its weights, made once (autocast would cast them and the activations at
    every turn); gradients reach the float32 weights."""
    weights = {}
    for n, p in model.named_parameters():
        if p.ndim == 4:
            p = p.contiguous(memory_format=torch.channels_last)
        weights[n] = p if "dwconv" in n else p.bfloat16()
    return _reparametrize_module(model, weights)


class RawMasks:
    """Keeps all four masks and scores of the last decoder call (a track step hands back only the chosen one)."""

    def __init__(self, decoder):
        self.out, predict = None, decoder.predict_masks

        def keep(**kw):
            self.out = predict(**kw)
            return self.out

        decoder.predict_masks = keep
