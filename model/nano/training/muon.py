"""Muon: momentum whose updates are orthogonalised by Newton-Schulz steps (Jordan et al., 2024), scaled to AdamW's size."""
import torch
import torch.distributed as dist


def orthogonal(g, steps=5):
    x = g.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT.contiguous()
    x = x / (x.float().norm() + 1e-7).bfloat16()
    for _ in range(steps):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    """For matrices and convolution kernels; each rank orthogonalises its share and the updates are summed."""

    def __init__(self, params, lr, momentum=.95, weight_decay=.05, rank=0, world=1):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))
        self.rank, self.world, self.owner = rank, world, {}
        load = [0.] * world

        def cost(p):
            a, b = p.shape[0], p[0].numel()
            return min(a, b) ** 2 * max(a, b)

        for group in self.param_groups:
            for p in sorted(group["params"], key=cost, reverse=True):
                r = load.index(min(load))
                load[r] += cost(p)
                self.owner[p] = r
                self.state[p]["momentum"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            updates = []
            for p in group["params"]:
                m = self.state[p]["momentum"]
                m.mul_(group["momentum"]).add_(p.grad)
                if self.owner[p] != self.rank:
                    updates.append(torch.zeros(p.numel()))
                    continue
                g = p.grad.add(m, alpha=group["momentum"]).reshape(p.shape[0], -1)
                updates.append((orthogonal(g) * (.2 * max(g.shape) ** .5)).flatten())
            flat, at = torch.cat(updates), 0
            if self.world > 1:
                dist.all_reduce(flat)
            for p in group["params"]:
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(flat[at:at + p.numel()].view_as(p), alpha=-group["lr"])
                at += p.numel()
