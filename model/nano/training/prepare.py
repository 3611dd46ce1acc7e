"""Fetch the pictures by package name and pack them: sprites (with alpha), photographs, short real sequences.

    python prepare.py --clips DIR [DIR ...]      # everything; DIRs hold the Apache-2.0 demo clips (*.mp4)
    python prepare.py --clips DIR --only photos  # one kind again

Only data whose licence allows a redistributed model goes in (LICENCES below is copied into the model card).
"""
import argparse
import glob
import os
import random
import subprocess

import cv2
import numpy as np

from assets import Writer, path

cv2.setNumThreads(1)

# Debian package -> licence of what is used from it.
LICENCES = {
    "openclipart-png": "public domain (CC public-domain dedication)",
    "fonts-noto-color-emoji": "SIL OFL 1.1 (font), Apache-2.0 (pictures)",
    "opencv-doc": "BSD-3-Clause / Apache-2.0 (sample photographs)",
    "lomiri-wallpapers-16.04": "CC-BY-4.0, CC-BY-SA-3.0/4.0, CC0-1.0",
    "lomiri-wallpapers-20.04": "CC-BY-4.0, CC-BY-SA-3.0/4.0, CC0-1.0",
    "ukui-wallpapers": "CC-BY-SA-3.0",
    "gnome-backgrounds": "CC-BY-SA-3.0, CC-BY-2.0, CC-BY-SA-2.0",
}
# Demo clips that never go into training: the validation clips' backgrounds and the clips judged by eye.
HELD_OUT_CLIPS = ["bedroom", "05_default_juggle", "02_cups", "01_dog", "06_pingpong"]
# Folders of the clip art that are signs and symbols rather than things.
NOT_THINGS = ("flags", "special/", "callouts", "flowchart", "games/cards", "map_symbols", "duplicates", "theme",
              "aiga", "etiquette")
# The validation clips were made from every twentieth of the first SPLIT clip-art pictures; the order below keeps
# those held out. What comes after SPLIT is all for training.
SPLIT = 3000


def fetch():
    debs, raw = path("deb"), path("raw")
    os.makedirs(debs, exist_ok=True)
    os.makedirs(raw, exist_ok=True)
    missing = [p for p in LICENCES if not glob.glob(os.path.join(debs, p + "_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", *missing], cwd=debs, check=True)
    for p in LICENCES:
        if os.path.isdir(os.path.join(raw, "usr/share/doc", p)):
            continue
        subprocess.run(["dpkg-deb", "-x", glob.glob(os.path.join(debs, p + "_*.deb"))[0], raw], check=True)


def fit(picture, longest):
    h, w = picture.shape[:2]
    k = longest / max(h, w)
    if k >= 1:
        return picture
    return cv2.resize(picture, (max(1, round(w * k)), max(1, round(h * k))), interpolation=cv2.INTER_AREA)


def usable(sprite):
    """The sprite cropped to what is opaque, or None when it is no single solid thing."""
    opaque = sprite[..., 3] > 127
    ys, xs = np.where(opaque)
    if len(ys) < 300:
        return None
    sprite = sprite[ys.min():ys.max() + 1, xs.min():xs.max() + 1]
    h, w = sprite.shape[:2]
    opaque = sprite[..., 3] > 127
    filled = opaque.mean()
    if filled < 0.18 or min(h, w) < 24 or max(h, w) / min(h, w) > 5:
        return None
    n, _, stats, _ = cv2.connectedComponentsWithStats(opaque.astype(np.uint8))
    if n < 2 or stats[1:, 4].max() / opaque.sum() < 0.85:
        return None
    if filled > 0.97 and random.random() > 0.15:  # a filled rectangle is rarely interesting
        return None
    return sprite


def sprites(_):
    random.seed(1)
    out = Writer("sprites")
    files = sorted(glob.glob(path("raw/usr/share/openclipart/png/**/*.png"), recursive=True))
    files = [f for f in files if not any(k in f for k in NOT_THINGS) and os.path.getsize(f) < 600_000]
    random.shuffle(files)
    n, later = 0, None
    for f in files:
        if n == SPLIT and later is None:
            later = random.getstate()
        a = cv2.imread(f, cv2.IMREAD_UNCHANGED)
        if a is None or a.ndim != 3 or a.shape[2] != 4 or max(a.shape[:2]) > 2500:
            continue
        a = usable(fit(a, 200))
        if a is None:
            continue
        out.add(fit(a, 176), held_out=n < SPLIT and n % 20 == 0)
        n += 1
    if later is not None:
        random.setstate(later)
    from PIL import Image, ImageDraw, ImageFont
    font = ImageFont.truetype(glob.glob(path("raw/usr/share/fonts/truetype/noto/*Emoji*.ttf"))[0], 109)
    ranges = ((0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FB00), (0x2600, 0x27C0))
    e = 0
    for code in (c for lo, hi in ranges for c in range(lo, hi)):
        im = Image.new("RGBA", (140, 140), (0, 0, 0, 0))
        try:
            ImageDraw.Draw(im).text((2, 2), chr(code), font=font, embedded_color=True)
        except OSError:
            continue
        a = np.array(im)
        if (a[..., 3] > 127).sum() < 500:
            continue
        a = usable(np.ascontiguousarray(a[..., [2, 1, 0, 3]]))
        if a is None:
            continue
        out.add(a, held_out=e % 20 == 0)
        e += 1
    out.close()


class SeenInValidation:
    """Tells whether a photograph is the background of a validation clip (many matched ORB points, one homography)."""

    def __init__(self, npz):
        self.orb = cv2.ORB_create(1500)
        self.match = cv2.BFMatcher(cv2.NORM_HAMMING)
        frames = np.load(npz)["frames"][:, 0] if npz else []
        self.known = [self._describe(cv2.resize(f, (448, 448))) for f in frames]

    def _describe(self, bgr):
        return self.orb.detectAndCompute(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), None)

    def __call__(self, bgr):
        for picture in (bgr, np.ascontiguousarray(bgr[:, ::-1])):
            points, words = self._describe(picture)
            if words is None or len(words) < 20:
                continue
            for known_points, known_words in self.known:
                if known_words is None or len(known_words) < 20:
                    continue
                pairs = [p for p in self.match.knnMatch(words, known_words, k=2) if len(p) == 2]
                good = [a for a, b in pairs if a.distance < 0.75 * b.distance]
                if len(good) < 12:
                    continue
                src = np.float32([points[g.queryIdx].pt for g in good])
                dst = np.float32([known_points[g.trainIdx].pt for g in good])
                _, inliers = cv2.findHomography(src, dst, cv2.RANSAC, 6.0)
                if inliers is not None and inliers.sum() >= 12:
                    return True
        return False


def photos(args):
    random.seed(2)
    out, seen = Writer("photos"), SeenInValidation(args.val)
    files = sorted(glob.glob(path("raw/**/*.jpg"), recursive=True) + glob.glob(path("raw/**/*.jpeg"), recursive=True)
                   + glob.glob(path("raw/usr/share/backgrounds/**/*.png"), recursive=True))
    sizes, hidden = set(), []
    for f in files:
        size = os.path.getsize(f)
        if os.path.islink(f) or size < 25_000 or size in sizes:
            continue
        sizes.add(size)
        a = cv2.imread(f, cv2.IMREAD_REDUCED_COLOR_2 if size > 300_000 else cv2.IMREAD_COLOR)
        if a is None or min(a.shape[:2]) < 200:
            continue
        k = 400 / min(a.shape[:2])
        if k < 1:
            a = cv2.resize(a, None, fx=k, fy=k, interpolation=cv2.INTER_AREA)
        if a.std() < 18:
            continue
        a = a[:, :800]
        held = seen(a)
        if held:
            hidden.append(os.path.basename(f))
        out.add(a, held_out=held)
    out.close()
    print("held out, since they are in the validation clips:", *hidden)


def sequences(args):
    """Runs of 8 frames (every second one) of the demo clips at 448x252: moving backgrounds."""
    random.seed(3)
    out = Writer("sequences")
    for f in sorted(f for d in args.clips for f in glob.glob(os.path.join(d, "*.mp4"))):
        held = os.path.basename(f)[:-4] in HELD_OUT_CLIPS
        clip, frames, i = cv2.VideoCapture(f), [], 0
        while clip.grab():
            if i % 2 == 0:
                frames.append(cv2.resize(clip.retrieve()[1], (448, 252), interpolation=cv2.INTER_AREA))
            i += 1
        starts = list(range(0, len(frames) - 8, 8))
        random.shuffle(starts)
        for s in starts[:3 if held else 16]:
            out.add(np.stack(frames[s:s + 8]), held_out=held, frames=8)
    out.close()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clips", nargs="+", required=True, help="folders with the demo clips")
    ap.add_argument("--val", default="", help="validation clips (npz): photographs seen there are held out")
    ap.add_argument("--only", default="", help="sprites, photos or sequences")
    args = ap.parse_args()
    kinds = {"sprites": sprites, "photos": photos, "sequences": sequences}
    if not args.only:
        fetch()
    for name in [args.only] if args.only else kinds:
        kinds[name](args)
