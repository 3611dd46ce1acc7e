"""Masks for real objects of the training clips: boxes given by hand at some frames, interpolated, refined by GrabCut.
Only the frames whose result was looked at and accepted are kept (the last column).

    python labels.py --clips DIR [DIR ...]     # -> assets/labels/*.npz, and a sheet of each run in assets/labels/
"""
import argparse
import os

import cv2
import numpy as np

from assets import path

cv2.setNumThreads(1)
W, H = 448, 252
K = 448 / 423.33  # some boxes were read off a smaller sheet

# name: (clip, every n-th frame, {frame: box}, scale of the boxes, accepted frames of the run)
RUNS = {
    "snowboarder": ("07_snowboarder", 2, {
        0: (84, 28, 147, 150), 12: (59, 17, 145, 145), 24: (41, 17, 150, 155), 36: (42, 18, 160, 186),
        48: (74, 28, 188, 218), 60: (96, 32, 207, 230), 72: (100, 34, 214, 230), 84: (89, 36, 203, 224),
        96: (96, 36, 193, 218), 108: (76, 40, 184, 208), 120: (71, 40, 181, 192), 132: (74, 20, 179, 161)}, K, range(67)),
    "skateboarder": ("03_skateboarder", 2, {
        0: (52, 40, 150, 160), 10: (9, 72, 156, 238), 20: (36, 72, 172, 238), 30: (124, 65, 244, 238),
        40: (227, 74, 320, 238), 50: (264, 56, 408, 226), 60: (254, 22, 398, 140), 70: (211, 0, 336, 86),
        80: (156, 0, 267, 72)}, K, range(12)),
    "hummingbird": ("02_hummingbird", 8, {
        0: (76, 45, 255, 108), 8: (137, 28, 272, 132), 16: (101, 46, 277, 138), 24: (156, 35, 280, 172),
        32: (158, 42, 309, 146), 40: (179, 44, 345, 142), 48: (215, 44, 350, 160)}, K, range(6)),
    "bird": ("09_birdcartoon", 8, {
        0: (110, 18, 350, 162), 8: (110, 53, 342, 162), 16: (106, 83, 367, 162), 24: (106, 88, 352, 204),
        32: (130, 22, 279, 190), 40: (139, 38, 285, 180), 48: (126, 10, 276, 170), 56: (105, 84, 362, 158)}, K,
        range(1, 8)),
    "mug": ("04_coffee", 5, {
        0: (278, 144, 348, 217), 15: (272, 127, 345, 198), 30: (262, 120, 328, 191), 45: (260, 123, 322, 196),
        60: (258, 125, 320, 197), 75: (258, 126, 316, 198), 90: (258, 124, 320, 194), 105: (258, 123, 318, 195),
        120: (258, 123, 318, 192)}, 1., range(25)),
    "dog": ("22_dogskateboarder", 2, {
        20: (136, 126, 370, 252), 28: (92, 126, 284, 248), 36: (56, 130, 290, 252), 44: (42, 134, 218, 244),
        52: (26, 130, 234, 252), 60: (18, 126, 178, 236), 68: (6, 114, 202, 244), 76: (16, 120, 142, 232),
        84: (24, 104, 174, 230)}, 1., range(19, 33)),
    "magician": ("10_cloth_magic", 5, {
        0: (120, 36, 340, 252), 15: (128, 40, 340, 252), 30: (166, 44, 294, 252)}, 1., range(6)),
    "cloth": ("10_cloth_magic", 3, {
        0: (170, 148, 296, 252), 15: (177, 200, 292, 252), 30: (196, 188, 274, 252), 45: (156, 131, 262, 208)}, 1.,
        range(12)),
    "car": ("08_driving", 2, {
        54: (0, 148, 84, 226), 62: (0, 146, 95, 224), 70: (0, 146, 104, 223), 78: (6, 150, 113, 214),
        86: (20, 151, 119, 214), 94: (35, 153, 125, 213)}, 1., range(14)),
    "chrysalis": ("13_butterfly", 5, {
        0: (172, 74, 211, 159), 25: (176, 65, 214, 155), 50: (173, 60, 219, 154)}, 1., range(6, 11)),
    "butterfly": ("13_butterfly", 25, {
        150: (93, 95, 217, 203), 175: (96, 124, 219, 225), 200: (181, 93, 291, 212)}, 1., range(3)),
}


def segment(frame, box, previous, pad=3):
    x0, y0, x1, y1 = (int(round(v)) for v in box)
    x0, y0, x1, y1 = max(0, x0 - pad), max(0, y0 - pad), min(W, x1 + pad), min(H, y1 + pad)
    m = np.full((H, W), cv2.GC_BGD, np.uint8)
    m[y0:y1, x0:x1] = cv2.GC_PR_FGD
    yy, xx = np.mgrid[y0:y1, x0:x1].astype(np.float32)
    e = ((xx - (x0 + x1) / 2) / ((x1 - x0) / 2)) ** 2 + ((yy - (y0 + y1) / 2) / ((y1 - y0) / 2)) ** 2
    m[y0:y1, x0:x1][e > 1.25] = cv2.GC_PR_BGD  # the corners of a box are most likely background
    if previous is not None and previous.any():
        far = cv2.distanceTransform((~previous).astype(np.uint8), cv2.DIST_L2, 3) > 14
        m[far & (m == cv2.GC_PR_FGD)] = cv2.GC_PR_BGD
    mx, my = (x1 - x0) // 2 + 12, (y1 - y0) // 2 + 12  # only the surroundings, for speed
    rows, cols = slice(max(0, y0 - my), min(H, y1 + my)), slice(max(0, x0 - mx), min(W, x1 + mx))
    part = np.ascontiguousarray(m[rows, cols])
    cv2.setRNGSeed(1)
    cv2.grabCut(np.ascontiguousarray(frame[rows, cols]), part, None, np.zeros((1, 65)), np.zeros((1, 65)), 5,
                cv2.GC_INIT_WITH_MASK)
    out = np.zeros((H, W), np.uint8)
    out[rows, cols] = (part == cv2.GC_FGD) | (part == cv2.GC_PR_FGD)
    out = cv2.morphologyEx(out, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8))
    out = cv2.morphologyEx(out, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    n, label, stats, _ = cv2.connectedComponentsWithStats(out)
    for i in range(1, n):  # specks
        if stats[i, 4] < .12 * stats[1:, 4].max():
            out[label == i] = 0
    n, label, stats, _ = cv2.connectedComponentsWithStats(1 - out)
    for i in range(1, n):  # holes
        if stats[i, 4] < .03 * out.sum():
            out[label == i] = 1
    return out > 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clips", nargs="+", required=True)
    folders = ap.parse_args().clips
    os.makedirs(path("assets", "labels"), exist_ok=True)
    for name, (clip, every, boxes, scale, accepted) in RUNS.items():
        file = next((f for d in folders if os.path.exists(f := os.path.join(d, clip + ".mp4"))), None)
        if file is None:
            print(name, "left out: no", clip)
            continue
        at = sorted(boxes)
        video, i, frames, masks, previous = cv2.VideoCapture(file), 0, [], [], None
        while i <= at[-1]:
            ok, frame = video.read()
            if not ok:
                break
            if i >= at[0] and (i - at[0]) % every == 0:
                frame = cv2.resize(frame, (W, H), interpolation=cv2.INTER_AREA)
                box = [np.interp(i, at, [boxes[k][j] * scale for k in at]) for j in range(4)]
                mask = segment(frame, box, previous if every <= 2 else None)
                previous = mask
                frames.append(frame)
                masks.append(mask)
            i += 1
        keep = [k for k in accepted if k < len(frames)]
        np.savez(path("assets", "labels", name + ".npz"), frames=np.stack([frames[k] for k in keep]),
                 masks=np.stack([masks[k] for k in keep]).astype(np.uint8) * 255)
        tiles = []
        for k in [keep[j] for j in np.linspace(0, len(keep) - 1, 6).astype(int)]:
            v = frames[k].copy()
            v[masks[k]] = (v[masks[k]] * .5 + np.array([0, 255, 0]) * .5).astype(np.uint8)
            tiles.append(cv2.resize(v, (256, 144)))
        cv2.imwrite(path("assets", "labels", name + ".jpg"), cv2.hconcat(tiles))
        print(name, len(keep))


if __name__ == "__main__":
    main()
