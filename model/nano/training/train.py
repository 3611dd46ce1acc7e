"""Train the nano model on CPUs: some processes of one thread each, gradients summed over all of them.

    python train.py --name long --init ../sam2.1_hiera_nano.safetensors --minutes 90 --phases 4:2:4:.65,8:1:4:.35
    python train.py --name long --resume 1 --minutes 90 --phases ...      # go on where ckpt/long.pt was

A phase is frames:clips:objects:share of the time. A step lasts a fixed time (--window): every process adds up the
gradients of as many episodes as it gets done, so that a busy machine makes the batch smaller and stalls nobody.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.distributed as dist

import evaluate
import network
from assets import path
from episode import run
from muon import Muon
from scenes import Scenes


def arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--name", required=True)
    ap.add_argument("--init", default="", help="weights to start from; none: from scratch")
    ap.add_argument("--resume", type=int, default=0, help="1: go on from the checkpoint of this name")
    ap.add_argument("--minutes", type=float, required=True, help="of the whole schedule, resumed parts included")
    ap.add_argument("--phases", default="4:2:4:.65,8:1:4:.35")
    ap.add_argument("--size", type=int, default=256)
    ap.add_argument("--window", type=float, default=24.,
                    help="seconds of episodes in one step; 16 clips and more, or the rate is too high")
    ap.add_argument("--lr", type=float, default=1e-4, help="AdamW's; Muon's is twice that")
    ap.add_argument("--lr_end", type=float, default=1e-5)
    ap.add_argument("--warm", type=int, default=8, help="steps")
    ap.add_argument("--hold", type=float, default=.25, help="share of the time before the rate starts to fall")
    ap.add_argument("--ema", type=float, default=.95, help="what the average keeps of itself at a step")
    ap.add_argument("--real", type=float, default=.15, help="share of clips from labelled real runs")
    ap.add_argument("--eval", type=float, default=12., help="minutes between evaluations; 0: only at the end")
    ap.add_argument("--val", default="", help="validation clips (npz)")
    ap.add_argument("--world", type=int, default=2)
    ap.add_argument("--rank", type=int, default=-1)
    ap.add_argument("--port", default="29511")
    ap.add_argument("--seed", type=int, default=0)
    return ap.parse_args()


def optimisers(model, a):
    """Muon for matrices and kernels, AdamW for the rest (no decay for biases, norms and embeddings)."""
    muon, decay, plain = [], [], []
    for n, p in model.named_parameters():
        if p.ndim <= 1 or any(k in n for k in ("embed", "token", "tpos", "pos_")):
            plain.append(p)
        elif min(p.shape[0], p[0].numel()) >= 8 and not (p.ndim == 4 and p.shape[1] == 1):
            muon.append(p)
        else:
            decay.append(p)
    adam = torch.optim.AdamW([dict(params=decay, weight_decay=.05), dict(params=plain, weight_decay=0.)], lr=a.lr,
                             betas=(.9, .98))
    return [(adam, 1.), (Muon(muon, a.lr, rank=a.rank, world=a.world), 2.)]


def rate(a, progress, step):
    fall = max(0., progress - a.hold) / (1 - a.hold)
    lr = a.lr_end + (a.lr - a.lr_end) * .5 * (1 + math.cos(math.pi * min(1., fall)))
    return lr * min(1., (step + 1) / a.warm)


def summed(values, world):
    flat = torch.cat([v.flatten() for v in values])
    if world > 1:
        dist.all_reduce(flat)
    return flat


class Trainer:
    def __init__(self, a):
        self.a = a
        torch.manual_seed(a.seed)
        saved = torch.load(path("ckpt", a.name + ".pt"), weights_only=True) if a.resume else None
        self.model = network.build(a.init, a.size).train()
        network.quicken(self.model)
        if not a.init:  # or everything starts as absent
            torch.nn.init.constant_(self.model.sam_mask_decoder.pred_obj_score_head.layers[-1].bias, 3.)
        self.step, self.minutes = 0, 0.
        if saved:
            self.model.load_state_dict(saved["model"])
            self.step, self.minutes = saved["step"], saved["minutes"]
        self.params = [p for p in self.model.parameters() if p.requires_grad]
        for t in [*self.model.parameters(), *self.model.buffers()]:
            if a.world > 1:
                dist.broadcast(t.data, 0)
        self.ema = {k: v.detach().clone() for k, v in (saved["ema"] if saved else self.model.state_dict()).items()}
        self.optimisers = optimisers(self.model, a)
        self.raw = network.RawMasks(self.model.sam_mask_decoder)
        self.r = np.random.default_rng([a.seed, a.rank, self.step])
        self.scenes = Scenes([a.seed, a.rank, self.step, 1])
        self.scenes.p_real = a.real
        self.warm_from = self.step
        phases = [[float(v) for v in p.split(":")] for p in a.phases.split(",")]
        self.phases = [tuple(int(v) for v in p[:3]) for p in phases]
        self.until = np.cumsum([p[3] for p in phases]) / sum(p[3] for p in phases)
        os.makedirs(path("ckpt"), exist_ok=True)
        self.log = open(path("ckpt", a.name + ".log"), "a") if a.rank == 0 else None

    def say(self, **k):
        if self.log:
            line = json.dumps(k)
            print(line, flush=True)
            self.log.write(line + "\n")
            self.log.flush()

    def save(self):
        """The checkpoint to resume from (the optimisers' momenta start anew)."""
        if self.a.rank:
            return
        f = path("ckpt", self.a.name + ".pt")
        torch.save(dict(model=self.model.state_dict(), ema=self.ema, step=self.step, minutes=self.minutes), f + ".tmp")
        os.replace(f + ".tmp", f)

    def episode(self, phase):
        if phase[0] > 1 and self.r.random() < .2:  # single pictures on the way, for a good first frame
            phase = (1, 4, 6)
        T, B, K = phase
        clips = [self.scenes.clip(T, self.a.size, K) for _ in range(B)]
        kind = self.r.choice(["mask", "box", "click"], p=[.3, .4, .3] if T > 1 else [0, .5, .5])
        with network.plain_attention():
            loss, J, swell = run(self.model, self.raw, np.stack([c[0] for c in clips]), np.stack([c[1] for c in clips]), kind,
                          self.r, correct=self.r.random() < .15)
            loss.backward()
        return float(loss.detach()), J, kind, T * B, swell

    def advance(self, phase, lr):
        """One optimiser step; returns this process's episodes and the gradient's norm."""
        for p in self.params:
            p.grad = None
        done, t0 = [], time.time()
        while not done or time.time() - t0 < self.a.window:
            done.append(self.episode(phase))
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in self.params]
        flat = summed([*grads, torch.tensor([float(len(done))])], self.a.world)
        flat = flat[:-1] / flat[-1]
        norm = float(flat.norm())
        if not math.isfinite(norm):
            return done, norm
        flat *= min(1., 1. / (norm + 1e-6))
        at = 0
        for p in self.params:
            p.grad = flat[at:at + p.numel()].view_as(p)
            at += p.numel()
        for optimiser, factor in self.optimisers:
            for g in optimiser.param_groups:
                g["lr"] = lr * factor
            optimiser.step()
        keep = min(self.a.ema, (1 + self.step) / (10 + self.step))
        for k, v in self.model.state_dict().items():
            if v.is_floating_point():
                self.ema[k].lerp_(v, 1 - keep)
        return done, norm

    def validate(self):
        if not self.a.val:
            return
        live = {k: v.clone() for k, v in self.model.state_dict().items()}
        self.model.load_state_dict(self.ema)
        t0 = time.time()
        result = evaluate.measure(self.model, evaluate.clips(self.a.val), self.a.size, self.a.rank, self.a.world)
        flat = summed([torch.from_numpy(v) for v in result.values()], self.a.world).numpy()
        at = 0
        for k, v in result.items():
            result[k] = flat[at:at + v.size].reshape(v.shape)
            at += v.size
        self.say(eval=evaluate.summary(result), step=self.step, minutes=round(self.minutes, 1),
                 seconds=round(time.time() - t0))
        self.model.load_state_dict(live)
        self.model.train()
        if self.a.rank == 0:
            torch.save(dict(model=self.ema), path("ckpt", f"{self.a.name}_{int(self.minutes):03d}.pt"))

    def train(self):
        begun, clock = self.minutes, time.time()
        evaluated, saved, said, recent, last = clock, clock, clock, [], None
        while True:
            self.minutes = begun + (time.time() - clock) / 60
            # Rank 0 decides, so that all agree.
            order = torch.tensor([self.minutes / self.a.minutes, self.a.eval > 0 and time.time() - evaluated > self.a.eval * 60.])
            if self.a.world > 1:
                dist.broadcast(order, 0)
            progress = float(order[0])
            if progress >= 1 or order[1] > 0:
                self.save()
                self.validate()
                evaluated = time.time()
                if progress >= 1:
                    break
            phase = self.phases[min(int(np.searchsorted(self.until, progress, side="right")), len(self.phases) - 1)]
            if phase != last:
                self.scenes.load_labels()
                last = phase
            lr = rate(self.a, progress, self.step - self.warm_from)
            done, norm = self.advance(phase, lr)
            self.step += 1
            if self.a.world > 1 and self.step % 200 == 0:
                for p in self.params:
                    dist.broadcast(p.data, 0)
            recent += [(*d[:3], norm, *d[3:]) for d in done]
            if time.time() - saved > 180:
                self.save()
                saved = time.time()
            if time.time() - said > 60:
                first = {str(k): round(float(np.nanmean([d[1][0] for d in recent if d[2] == k])), 3)
                         for k in ("box", "click") if any(d[2] == k for d in recent)}
                later = [np.nanmean(d[1][1:]) for d in recent if len(d[1]) > 1]
                self.say(step=self.step, minutes=round(self.minutes, 1), phase=phase, lr=round(lr, 6),
                         loss=round(float(np.mean([d[0] for d in recent])), 3), J0=first,
                         J=round(float(np.nanmean(later)), 3) if later else None,
                         last=round(float(np.nanmean([d[1][-1] for d in recent if len(d[1]) > 1])), 3) if later else None,
                         area=round(float(np.nanmedian([d[5] for d in recent])), 2),
                         norm=round(float(np.mean([d[3] for d in recent])), 2), episodes=len(recent),
                         frames_s=round(sum(d[4] for d in recent) * self.a.world / (time.time() - said), 1))
                recent, said = [], time.time()


def main():
    a = arguments()
    if a.rank < 0:
        ranks = [subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--rank", str(r)])
                 for r in range(a.world)]
        sys.exit(max(p.wait() for p in ranks))
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if a.world > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=a.rank, world_size=a.world)
    Trainer(a).train()


if __name__ == "__main__":
    main()
