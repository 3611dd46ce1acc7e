"""Synthetic clips with exact masks, made on the fly: cut-outs that move, turn, deform, leave and hide each other over
photographs and real sequences. Look-alikes and camouflage are frequent, since they are what a tracker confuses.

    python scenes.py out.png     # a sheet of clips to look at
"""
import glob
import sys
import time

import cv2
import numpy as np

from assets import Store, path

cv2.setNumThreads(1)


# ---- textures and silhouettes ---------------------------------------------------------------------------------------

def smooth_noise(r, h, w, c, n):
    return cv2.resize(r.random((n, n, c)).astype(np.float32), (w, h), interpolation=cv2.INTER_CUBIC).reshape(h, w, c)


def texture(r, h, w):
    """A made-up surface: clouds, gradient, stripes, checks, spots or flat, with some noise."""
    kind = r.integers(0, 6)
    a, b = r.random(3).astype(np.float32) * 255, r.random(3).astype(np.float32) * 255
    if kind == 0:
        t = smooth_noise(r, h, w, 3, int(r.integers(2, 10))) * 255
    elif kind == 1:
        g = np.linspace(0, 1, w, dtype=np.float32)[None, :, None] * np.ones((h, 1, 1), np.float32)
        if r.random() < .5:
            g = np.linspace(0, 1, h, dtype=np.float32)[:, None, None] * np.ones((1, w, 1), np.float32)
        t = a + (b - a) * g
    elif kind == 2:
        yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
        angle, f = r.random() * np.pi, r.uniform(.05, .6)
        g = np.sin((xx * np.cos(angle) + yy * np.sin(angle)) * f) > r.uniform(-.5, .5)
        t = a + (b - a) * g.astype(np.float32)[..., None]
    elif kind == 3:
        yy, xx = np.mgrid[0:h, 0:w]
        n = int(r.integers(4, 24))
        t = a + (b - a) * (((yy // n) + (xx // n)) % 2).astype(np.float32)[..., None]
    else:
        t = np.ones((h, w, 3), np.float32) * a
        for _ in range(int(r.integers(3, 15)) if kind == 4 else 0):
            cv2.circle(t, (int(r.integers(0, w)), int(r.integers(0, h))), int(r.integers(2, max(3, w // 4))),
                       (r.random(3) * 255).tolist(), -1)
    t = t + r.normal(0, r.uniform(0, 12), (h, w, 1)).astype(np.float32)
    return np.clip(t, 0, 255).astype(np.uint8)


def silhouette(r, n=120):
    """A random outline: smooth blob, polygon, super-ellipse, or a torso with limbs and a head."""
    m, k, c = np.zeros((n, n), np.uint8), r.random(), n / 2
    th = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    if k < .4:
        rad = np.ones_like(th)
        for f in range(2, 2 + int(r.integers(1, 7))):
            rad += r.normal(0, .35 / f) * np.cos(f * th + r.random() * 7)
        rad = np.clip(rad, .25, None)
        rad = rad / rad.max() * c * .95
        cv2.fillPoly(m, [np.stack([c + rad * np.cos(th), c + rad * np.sin(th)], 1).astype(np.int32)], 255)
    elif k < .55:
        q = int(r.integers(3, 9))
        a, rad = np.sort(r.random(q)) * 2 * np.pi, r.uniform(.35, 1, q) * c * .95
        cv2.fillPoly(m, [np.stack([c + rad * np.cos(a), c + rad * np.sin(a)], 1).astype(np.int32)], 255)
    elif k < .75:
        e = r.uniform(.5, 4)
        x = np.sign(np.cos(th)) * np.abs(np.cos(th)) ** (1 / e)
        y = np.sign(np.sin(th)) * np.abs(np.sin(th)) ** (1 / e)
        p = np.stack([c + x * c * .95, c + y * c * .95 * r.uniform(.3, 1)], 1)
        cv2.fillPoly(m, [p.astype(np.int32)], 255)
    else:
        cv2.ellipse(m, (int(c), int(c)), (int(n * r.uniform(.08, .2)), int(n * r.uniform(.15, .26))), 0, 0, 360, 255, -1)
        for _ in range(int(r.integers(2, 6))):
            a = r.random() * 7
            b = a + r.normal(0, .7)
            u, v = np.array([np.cos(a), np.sin(a)]), np.array([np.cos(b), np.sin(b)])
            p0 = np.array([c, c]) + u * n * .1
            p1 = p0 + u * n * r.uniform(.1, .25)
            p2 = p1 + v * n * r.uniform(.08, .2)
            cv2.polylines(m, [np.array([p0, p1, p2]).astype(np.int32)], False, 255, int(n * r.uniform(.04, .13)) + 1)
        if r.random() < .7:
            cv2.circle(m, (int(c), int(c - n * r.uniform(.22, .32))), int(n * r.uniform(.06, .12)), 255, -1)
    ys, xs = np.where(m > 0)
    if len(ys) < 100:
        return silhouette(r, n)
    return m[ys.min():ys.max() + 1, xs.min():xs.max() + 1]


# ---- the generator --------------------------------------------------------------------------------------------------

class Scenes:
    """clip(T, S, K) -> frames uint8 T,S,S,3 (BGR), masks bool T,K,S,S: the visible part of K targets."""

    def __init__(self, seed, held_out=False):
        self.r = np.random.default_rng(seed)
        self.store = {n: Store(n, held_out) for n in ("sprites", "photos", "sequences")}
        self.real, self.real_sprites = [], []  # hand-labelled runs of real clips (labels.py), and cut-outs from them
        self.p_real = 0.                       # share of clips that are such a run
        self.p_lookalike = .3
        self.min_size = .05                    # of the picture's side
        self.min_area = 40                     # visible pixels of a target on frame 0, at 256
        if not held_out:
            self.load_labels()

    def load_labels(self):
        """(Re)read the hand-labelled runs."""
        self.real, self.real_sprites = [], []
        for f in sorted(glob.glob(path("assets", "labels", "*.npz"))):
            d = np.load(f)
            frames, masks = d["frames"], d["masks"]
            self.real.append((frames, masks))
            for i in range(0, len(frames), 4):
                ys, xs = np.where(masks[i] > 127)
                if len(ys) < 150:
                    continue
                y0, y1, x0, x1 = max(0, ys.min() - 2), ys.max() + 3, max(0, xs.min() - 2), xs.max() + 3
                cut = np.dstack([frames[i][y0:y1, x0:x1], cv2.GaussianBlur(masks[i], (3, 3), 0)[y0:y1, x0:x1]])
                self.real_sprites.append(np.ascontiguousarray(cut))

    def clip(self, T, S, K):
        while True:
            real = self.real and self.r.random() < self.p_real
            o = self._real(T, S, K) if real else self._synthetic(T, S, K)
            if o is not None:
                return o

    # sources

    def _pick(self, name, most=1):
        s = self.store[name]
        f = s.frames(int(self.r.integers(len(s))), most)
        return f if most > 1 else f[0]

    def _background(self):
        r, k = self.r, self.r.random()
        if k < .5:
            return [self._pick("photos")]
        if k < .9:
            f = self._pick("sequences", 8)
            if r.random() < .35:
                return [f[0]]
            return f[::-1] if r.random() < .5 else f
        return [texture(r, 300, 400)]

    def _surface(self, h, w):
        r = self.r
        if r.random() < .35:
            return texture(r, h, w)
        im = self._pick("photos" if r.random() < .6 else "sequences")
        k = r.uniform(1., 2.5)
        ch, cw = min(im.shape[0], int(h * k)), min(im.shape[1], int(w * k))
        y, x = int(r.integers(0, im.shape[0] - ch + 1)), int(r.integers(0, im.shape[1] - cw + 1))
        return cv2.resize(im[y:y + ch, x:x + cw], (w, h), interpolation=cv2.INTER_AREA)

    def _sprite(self):
        """A cut-out, BGRA."""
        r, k = self.r, self.r.random()
        if self.real_sprites and k < .14:
            a = self.real_sprites[int(r.integers(len(self.real_sprites)))].copy()
            m = max(a.shape[:2])
            if m > 200:
                a = cv2.resize(a, None, fx=200 / m, fy=200 / m, interpolation=cv2.INTER_AREA)
        elif k < .72:
            a = self._pick("sprites")
            if r.random() < .3:  # a surface on a flat drawing
                t, w = self._surface(*a.shape[:2]).astype(np.float32), r.uniform(.2, .7)
                a[..., :3] = np.clip(a[..., :3] * (1 - w) + t * w, 0, 255).astype(np.uint8)
        else:
            m = silhouette(r)
            h, w = m.shape
            t = self._surface(h, w)
            if r.random() < .4:  # an object of two parts
                y = int(r.integers(h // 4, 3 * h // 4 + 1))
                t[y:] = self._surface(h, w)[y:]
            a = np.dstack([t, m])
        if r.random() < .5:
            a = a[:, ::-1]
        if r.random() < .6:  # shading
            h, w = a.shape[:2]
            g = smooth_noise(r, h, w, 1, 3) * r.uniform(.2, .8)
            a = np.dstack([np.clip(a[..., :3] * (g - g.mean() + 1), 0, 255).astype(np.uint8), a[..., 3]])
        return np.ascontiguousarray(self._recolour(a))

    def _recolour(self, a, k=1.):
        r = self.r
        gain = np.ones(3) * r.uniform(1 - .4 * k, 1 + .3 * k) * r.uniform(1 - .2 * k, 1 + .2 * k, 3)
        bgr = a[..., :3].astype(np.float32) * gain.astype(np.float32) + np.float32(r.normal(0, 12 * k))
        if r.random() < .3 * k:
            bgr = bgr[..., list(r.permutation(3))]
        if r.random() < .2 * k:
            w = r.random()
            bgr = bgr * w + bgr.mean(2, keepdims=True) * (1 - w)
        return np.dstack([np.clip(bgr, 0, 255).astype(np.uint8), a[..., 3]])

    def _camouflage(self, sprite, frame):
        """The cut-out with the scene's own mean and spread of colours."""
        opaque = sprite[..., 3] > 127
        v = sprite[..., :3][opaque].astype(np.float32)
        if len(v) <= 10:
            return sprite
        f = (sprite[..., :3].astype(np.float32) - v.mean(0)) / (v.std(0) + 8)
        f = f * (frame.std((0, 1)) + 1) + frame.mean((0, 1))
        return np.dstack([np.clip(f * .8 + sprite[..., :3] * .2, 0, 255).astype(np.uint8), sprite[..., 3]])

    # motion

    def _path(self, T, S, size, leave=False):
        """Per frame: centre x, centre y, size in pixels, angle, squash."""
        r, t = self.r, np.arange(T) / 7.
        speed = r.choice([.03, .12, .3, .6], p=[.2, .35, .3, .15])
        v, acc = r.normal(0, speed, 2), r.normal(0, speed * .6, 2)
        cx, cy = r.uniform(.12, .88, 2)
        if leave:
            away = np.sign(np.array([cx, cy]) - .5)
            v = away * abs(v) + away * r.uniform(.4, 1.7) * (r.random(2) < .6)
        w, f, ph = r.normal(0, .06 * (speed > .05), 2), r.uniform(3, 9, 2), r.random(2) * 7
        x = cx + v[0] * t + acc[0] * t * t + w[0] * (np.sin(f[0] * t + ph[0]) - np.sin(ph[0]))
        y = cy + v[1] * t + acc[1] * t * t + w[1] * (np.sin(f[1] * t + ph[1]) - np.sin(ph[1]))
        if not leave and r.random() < .6:  # bounces off the sides
            x, y = x % 2, y % 2
            x, y = np.where(x > 1, 2 - x, x), np.where(y > 1, 2 - y, y)
        scale = np.exp(r.normal(0, .25) * t + r.normal(0, .06) * np.sin(f[0] * t))
        angle = r.normal(0, .3) + r.normal(0, .5) * t + r.normal(0, .12) * np.sin(f[1] * t + ph[1])
        squash = r.uniform(.75, 1.3) * np.exp(r.normal(0, .12) * np.sin(f[0] * t + ph[1]))
        return np.stack([x * S, y * S, size * scale, angle, squash], 1)

    def _camera(self, T, h, w, S, amount=1.):
        """Affine matrices from an h x w source to the square picture (aspect squashed, as the predictor does)."""
        r, t = self.r, np.arange(T) / 7.
        zoom = r.uniform(.45, 1.) if r.random() < .7 else 1.
        aspect = r.uniform(.75, 1.33) if r.random() < .5 else 1.
        cw, ch = w * zoom, h * zoom * aspect
        if ch > h:
            cw, ch = cw * h / ch, h
        move = r.choice([0., .05, .2, .5], p=[.3, .3, .25, .15]) * amount
        v, acc = r.normal(0, move, 2), r.normal(0, move * .5, 2)
        x = r.uniform(0, 1) * (w - cw) + cw / 2 + (v[0] * t + acc[0] * t * t) * cw
        y = r.uniform(0, 1) * (h - ch) + ch / 2 + (v[1] * t + acc[1] * t * t) * ch
        grow = np.exp(r.normal(0, .3 * min(1, move * 3)) * t)
        angle = r.normal(0, .25 * min(1, move * 3)) * t
        flip, out = (-1 if r.random() < .5 else 1), []
        for i in range(T):
            kx, ky = S / cw * grow[i] * flip, S / ch * grow[i]
            c, n = np.cos(angle[i]), np.sin(angle[i])
            m = np.array([[kx * c, -ky * n, 0], [kx * n, ky * c, 0]], np.float32)
            m[:, 2] = S / 2 - m[:, :2] @ np.array([x[i], y[i]])
            out.append(m)
        return out

    def _draw(self, canvas, sprite, pose, warp, blur):
        """Paste a cut-out; returns (x0, y0, x1, y1, alpha in 0..1), or None when it lies outside."""
        S = canvas.shape[0]
        h, w = sprite.shape[:2]
        cx, cy, size, angle, squash = pose
        k = size / max(h, w)
        kx, ky = k * np.sqrt(squash), k / np.sqrt(squash)
        if min(kx, ky) < .5:  # shrink first, against aliasing
            f = max(min(kx, ky) * 1.3, .05)
            sprite = cv2.resize(sprite, (max(2, int(w * f)), max(2, int(h * f))), interpolation=cv2.INTER_AREA)
            kx, ky = kx * w / sprite.shape[1], ky * h / sprite.shape[0]
            h, w = sprite.shape[:2]
        if warp is not None:
            (ax, fx, px), (ay, fy, py) = warp
            xs, ys = np.arange(w, dtype=np.float32), np.arange(h, dtype=np.float32)
            mx = xs[None] + (ax * w * np.sin(ys / h * fx + px)).astype(np.float32)[:, None]
            my = ys[:, None] + (ay * h * np.sin(xs / w * fy + py)).astype(np.float32)[None]
            sprite = cv2.remap(sprite, mx, my, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        c, n = np.cos(angle), np.sin(angle)
        m = np.array([[kx * c, -ky * n, 0], [kx * n, ky * c, 0]], np.float32)
        m[:, 2] = np.array([cx, cy]) - m[:, :2] @ np.array([w / 2, h / 2])
        corners = (m[:, :2] @ np.array([[0, w, 0, w], [0, 0, h, h]]) + m[:, 2:]).T
        x0, y0 = np.floor(corners.min(0)).astype(int) - 2
        x1, y1 = np.ceil(corners.max(0)).astype(int) + 3
        x0, y0, x1, y1 = max(0, x0), max(0, y0), min(S, x1), min(S, y1)
        if x1 - x0 < 2 or y1 - y0 < 2:
            return None
        m[:, 2] -= (x0, y0)
        o = cv2.warpAffine(sprite, m, (int(x1 - x0), int(y1 - y0)), flags=cv2.INTER_LINEAR,
                           borderMode=cv2.BORDER_CONSTANT)
        if blur > 1:
            o = cv2.blur(o, (blur, blur))
        alpha = o[..., 3:].astype(np.float32) * (1 / 255.)
        region = canvas[y0:y1, x0:x1]
        region[:] = region * (1 - alpha) + o[..., :3] * alpha
        return x0, y0, x1, y1, alpha[..., 0]

    def _lens(self, frames):
        """Exposure drift, softness, noise, JPEG."""
        r = self.r
        if r.random() < .5:
            g, b, dg, db = r.uniform(.7, 1.3), r.normal(0, 12), r.normal(0, .12), r.normal(0, 8)
            frames = [np.clip(f * (g + dg * i / 7) + (b + db * i / 7), 0, 255) for i, f in enumerate(frames)]
        if r.random() < .3:
            k = r.uniform(.4, 1.2)
            frames = [cv2.GaussianBlur(f, (0, 0), k) for f in frames]
        if r.random() < .4:
            n = r.uniform(1, 9)
            frames = [f + r.normal(0, 1, f.shape[:2] + (1,)).astype(np.float32) * n for f in frames]
        frames = [np.clip(f, 0, 255).astype(np.uint8) for f in frames]
        if r.random() < .2:
            q = int(r.integers(25, 80))
            frames = [cv2.imdecode(cv2.imencode(".jpg", f, [1, q])[1], 1) for f in frames]
        return np.stack(frames)

    # clips

    def _synthetic(self, T, S, K):
        r = self.r
        source = self._background()
        h, w = source[0].shape[:2]
        camera = self._camera(T, h, w, S)
        tint = np.float32(r.uniform(.75, 1.2)) * r.uniform(.9, 1.1, 3).astype(np.float32)
        turn = max(1, 2 * len(source) - 2)  # there and back again
        order = [i % turn for i in range(T)]
        order = [i if i < len(source) else turn - i for i in order]
        frames = [cv2.warpAffine(source[order[i]], camera[i], (S, S), flags=cv2.INTER_LINEAR,
                                 borderMode=cv2.BORDER_REFLECT).astype(np.float32) * tint for i in range(T)]
        n = int(r.integers(2, 3 + max(2, K)))
        objects = []
        for _ in range(n):
            size = S * np.exp(r.uniform(np.log(self.min_size), np.log(.8)))
            sprite = self._sprite()
            if objects and r.random() < self.p_lookalike:
                twin = objects[int(r.integers(len(objects)))]
                sprite = self._recolour(twin["sprite"], .25) if r.random() < .6 else twin["sprite"]
                size = twin["path"][0, 2] * r.uniform(.8, 1.25)
            elif r.random() < .15:
                sprite = self._camouflage(sprite, frames[0])
            warp = None
            if r.random() < .6:
                ax, ay = r.uniform(0, .1, 2)
                fx, fy = r.uniform(2, 7, 2)
                wx, wy = r.normal(0, 1.2, 2)
                px, py = r.random(2) * 7
                warp = [((ax, fx, px + wx * i), (ay, fy, py + wy * i)) for i in range(T)]
            objects.append(dict(sprite=sprite, path=self._path(T, S, size, r.random() < .18), warp=warp,
                                blur=int(r.choice([0, 0, 2, 3]))))
        layers = list(r.permutation(n))
        if T > 2 and r.random() < .15:  # something passes in front of one of them, or stays there
            q = objects[int(r.integers(n))]
            when = int(r.integers(T // 2, T))
            size = min(S * .95, q["path"][when, 2] * r.uniform(1.3, 2.))
            a, dt = r.random() * 7, np.arange(T) - when
            step = max(size * 1.1 / max(1, when), S * r.uniform(.05, .25))
            if r.random() < .4:
                dt = np.minimum(dt, 0)
            p = np.stack([q["path"][when, 0] + np.cos(a) * step * dt, q["path"][when, 1] + np.sin(a) * step * dt,
                          np.full(T, size), np.full(T, r.normal(0, .3)), np.full(T, r.uniform(.85, 1.2))], 1)
            objects.append(dict(sprite=self._sprite(), path=p, warp=None, blur=0))
            layers.append(n)
        return self._compose(frames, objects, layers, n, K)

    def _real(self, T, S, K):
        """A labelled run of a real clip, with up to three cut-outs pasted over it."""
        r = self.r
        clip, labels = self.real[int(r.integers(len(self.real)))]
        step = int(r.choice([1, 1, 2, 3]))
        while step > 1 and (T - 1) * step >= len(clip):
            step -= 1
        first = int(r.integers(0, max(1, len(clip) - (T - 1) * step)))
        ids = [min(len(clip) - 1, first + i * step) for i in range(T)]
        if r.random() < .4:
            ids = ids[::-1]
        h, w = clip[0].shape[:2]
        camera = self._camera(T, h, w, S, amount=.35)
        tint = np.float32(r.uniform(.75, 1.2)) * r.uniform(.9, 1.1, 3).astype(np.float32)
        frames = [cv2.warpAffine(clip[ids[i]], camera[i], (S, S), flags=cv2.INTER_LINEAR,
                                 borderMode=cv2.BORDER_REFLECT).astype(np.float32) * tint for i in range(T)]
        if r.random() < .25:
            order = r.permutation(3)
            frames = [np.ascontiguousarray(f[..., order]) for f in frames]
        base = [cv2.warpAffine(labels[ids[i]], camera[i], (S, S), flags=cv2.INTER_LINEAR,
                               borderMode=cv2.BORDER_REFLECT) > 127 for i in range(T)]
        n = int(r.integers(0, 4))
        objects = [dict(sprite=self._sprite(), warp=None, blur=0, path=self._path(
            T, S, S * np.exp(r.uniform(np.log(.1), np.log(.4))), r.random() < .15)) for _ in range(n)]
        return self._compose(frames, objects, list(range(n)), n, K, base)

    def _compose(self, frames, objects, layers, n, K, base=None):
        """Draw the layers; the targets are K of the first n objects (and the base) that can be seen on frame 0."""
        T, S = len(frames), frames[0].shape[0]
        masks = np.zeros((T, n + (base is not None), S, S), bool)
        for i in range(T):
            if base is not None:
                masks[i, n] = base[i]
            for o in layers:
                q = objects[o]
                d = self._draw(frames[i], q["sprite"], q["path"][i], q["warp"][i] if q["warp"] else None, q["blur"])
                if d is None:
                    continue
                x0, y0, x1, y1, alpha = d
                hard = alpha > .5
                masks[i, :, y0:y1, x0:x1] &= ~hard
                if o < n:
                    masks[i, o, y0:y1, x0:x1] |= hard
        area = masks[0].reshape(masks.shape[1], -1).sum(1)
        seen = np.flatnonzero((area > self.min_area * (S / 256) ** 2) & (area < .8 * S * S))
        if base is not None and n not in seen or len(seen) == 0:
            return None
        targets = self.r.permutation(seen)[:K]
        if base is not None and n not in targets:
            targets[0] = n
        while len(targets) < K:  # the same object with another prompt
            targets = np.append(targets, seen[int(self.r.integers(len(seen)))])
        return self._lens(frames), masks[:, targets]


# ---- prompts ----------------------------------------------------------------------------------------------------

def box_prompt(r, mask, jitter=.08, slip=0.):
    """x0, y0, x1, y1 around the mask, each side off by some 8 % and some `slip` pixels."""
    ys, xs = np.where(mask)
    S = mask.shape[0]
    b = np.array([xs.min(), ys.min(), xs.max() + 1, ys.max() + 1], float)
    w, h = b[2] - b[0], b[3] - b[1]
    d = r.normal(0, jitter, 4) * np.array([w, h, w, h])
    if slip:
        d += r.normal(0, slip, 4)
    return np.clip(b + np.clip(d, -S * .04, S * .04), 0, S - 1).astype(np.float32)


def click_prompt(r, mask, centre=.5):
    """x, y: well inside with the chance `centre`, else any pixel."""
    m = mask.astype(np.uint8)
    if r.random() < centre:
        d = cv2.distanceTransform(cv2.copyMakeBorder(m, 1, 1, 1, 1, cv2.BORDER_CONSTANT), cv2.DIST_L2, 3)[1:-1, 1:-1]
        c = np.argwhere(d >= d.max() * r.uniform(.6, 1.))
    else:
        c = np.argwhere(m)
    y, x = c[int(r.integers(len(c)))]
    return np.array([x, y], np.float32)


if __name__ == "__main__":
    scenes, rows = Scenes(0), []
    scenes.p_real = .3
    t0 = time.process_time()
    for _ in range(8):
        frames, masks = scenes.clip(6, 256, 4)
        row = []
        for f, m in zip(frames, masks):
            v = f.copy()
            for k, c in enumerate(((0, 255, 0), (0, 0, 255), (255, 0, 0), (0, 255, 255))):
                outline, _ = cv2.findContours(m[k].astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
                cv2.drawContours(v, outline, -1, c, 1)
            row.append(v)
        rows.append(np.hstack(row))
    print("ms per frame", (time.process_time() - t0) / 48 * 1000)
    cv2.imwrite(sys.argv[1], np.vstack(rows))
