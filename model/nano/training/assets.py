"""Packed picture stores: one flat uint8 file and one index per kind, memory-mapped, so that many processes share them.

An index row is (offset, height, width, channels, held_out, frames); pictures are BGR or BGRA, row-major.
"""
import os

import numpy as np

WORK = os.environ.get("NANO_WORK", "nano-work")


def path(*parts):
    return os.path.join(WORK, *parts)


class Writer:
    def __init__(self, name):
        os.makedirs(path("assets"), exist_ok=True)
        self.name, self.rows, self.offset = name, [], 0
        self.file = open(path("assets", name + ".bin"), "wb")

    def add(self, picture, held_out=False, frames=1):
        picture = np.ascontiguousarray(picture, np.uint8)
        h, w, c = picture.shape[-3:]
        self.file.write(picture.tobytes())
        self.rows.append((self.offset, h, w, c, int(held_out), frames))
        self.offset += picture.size

    def close(self):
        self.file.close()
        np.save(path("assets", self.name + ".idx.npy"), np.array(self.rows, np.int64))
        held = sum(r[4] for r in self.rows)
        print(f"{self.name}: {len(self.rows)} ({held} held out), {self.offset / 1e6:.0f} MB")


class Store:
    """The pictures of one kind, either those to train on or those held out."""

    def __init__(self, name, held_out=False):
        rows = np.load(path("assets", name + ".idx.npy"))
        self.rows = rows[(rows[:, 4] > 0) == held_out]
        self.bytes = np.memmap(path("assets", name + ".bin"), np.uint8, "r")

    def __len__(self):
        return len(self.rows)

    def get(self, i):
        return self.frames(i, 1)[0]

    def frames(self, i, most):
        """Up to `most` frames of entry i (a single picture is one frame); the arrays are copies."""
        offset, h, w, c, _, n = (int(v) for v in self.rows[i])
        size = h * w * c
        return [np.array(self.bytes[offset + k * size: offset + (k + 1) * size]).reshape(h, w, c)
                for k in range(min(n, most))]
