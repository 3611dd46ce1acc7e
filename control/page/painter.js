// Pictures with the masks that are exactly theirs, on a canvas: a soft fill and a crisp outline. Time never goes back on it.
import { fill } from './rle.js';

const remembered = 240; // masks, by their pictures' time stamps
const waitForMasks = 150; // ms: they went first, but on another way
const trackedWithin = 1000; // ms: a stream with younger masks leaves pictures out that were not tracked; longer where masks are slow
const mostGap = 4000; // ms
const staleFor = 45000; // RTP ticks: older masks are not drawn on a later picture

const later = (a, b) => ((a - b) | 0) > 0; // of RTP time stamps, which go round

export class Painter {
  #canvas;
  #context;
  #masks = new Map();
  #newest = null;
  #newestAt = 0;
  #gap = 0; // ms between masks, of late
  #held = null; // a picture whose masks may still come
  #last; // RTP of what is shown
  #mask = document.createElement('canvas'); // all objects, in the masks' own size
  #ring = document.createElement('canvas'); // around them, in the canvas's size
  #times = [];

  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d', { alpha: false });
    Object.assign(this, { exact: true, frozen: false, selected: null, colours: new Map(), drawn: null, onDrawn: () => {} });
  }

  // forget begins a new session.
  forget() {
    this.#masks.clear();
    clearTimeout(this.#held?.timer);
    this.#newest = this.#held = null;
    this.#last = undefined;
    this.#times.length = 0;
    this.drawn = null;
  }

  // rate is pictures shown in the last second.
  rate() {
    const since = performance.now() - 1000;
    while (this.#times.length && this.#times[0] < since) this.#times.shift();
    return this.#times.length;
  }

  masks(message) {
    if (message.past && !this.#masks.has(message.rtp)) return; // about what has gone by
    this.#masks.set(message.rtp, message);
    if (this.#masks.size > remembered) this.#masks.delete(this.#masks.keys().next().value);
    if (!this.#newest || later(message.rtp, this.#newest.rtp)) {
      this.#newest = message;
      const now = performance.now();
      this.#gap = Math.max(Math.min(now - this.#newestAt, mostGap), this.#gap * 0.9);
      this.#newestAt = now;
    }
    if (this.#held && !later(this.#held.rtp, message.rtp)) this.#resolve(message.rtp === this.#held.rtp ? message : null);
  }

  // picture draws what the video shows now, or waits for its masks. On a busy machine the video may show a later picture than the one
  // it called about, and where the browser says which, that is believed.
  picture(video, meta) {
    const frame = typeof VideoFrame === 'function' ? new VideoFrame(video) : null;
    this.#picture(frame ?? video, frame?.metadata?.().rtpTimestamp ?? meta.rtpTimestamp, meta);
    frame?.close();
  }

  #picture(image, rtp, meta) {
    if (this.frozen || this.#last !== undefined && rtp !== undefined && !later(rtp, this.#last)) return;
    const own = this.#masks.get(rtp);
    if (own) {
      this.#show(image, rtp, own);
    } else if (rtp === undefined || !this.exact) {
      this.#show(image, rtp, this.#recent(rtp));
    } else if (this.#newest && later(this.#newest.rtp, rtp)) {
      this.#untracked(image, rtp);
    } else {
      this.#hold(image, rtp, meta);
    }
  }

  // #recent is for browsers that do not tell time stamps, and for who wants the picture at once.
  #recent(rtp) {
    const m = this.#newest;
    return m && (rtp === undefined || ((rtp - m.rtp) | 0) < staleFor) ? m : null;
  }

  // #untracked leaves a picture out between two that were tracked; where none is tracked any more, it is shown without masks.
  #untracked(image, rtp) {
    if (performance.now() - this.#newestAt > Math.max(trackedWithin, 2.5 * this.#gap)) this.#show(image, rtp, null);
  }

  #hold(image, rtp, meta) {
    clearTimeout(this.#held?.timer);
    const copy = this.#held?.copy ?? document.createElement('canvas');
    resize(copy, meta.width, meta.height);
    copy.getContext('2d').drawImage(image, 0, 0, meta.width, meta.height); // the video goes on
    this.#held = { rtp, copy, timer: setTimeout(() => this.#resolve(null), waitForMasks) };
  }

  #resolve(message) {
    const { rtp, copy, timer } = this.#held;
    clearTimeout(timer);
    this.#held = null;
    if (this.frozen || this.#last !== undefined && !later(rtp, this.#last)) return;
    if (message) this.#show(copy, rtp, message);
    else this.#untracked(copy, rtp);
  }

  #show(image, rtp, message) {
    if (this.#held && (rtp === undefined || !later(this.#held.rtp, rtp))) {
      clearTimeout(this.#held.timer);
      this.#held = null;
    }
    const canvas = this.#canvas;
    const scale = Math.min(devicePixelRatio || 1, 2);
    resize(canvas, Math.round(canvas.clientWidth * scale) || canvas.width, Math.round(canvas.clientHeight * scale) || canvas.height);
    this.#context.drawImage(image, 0, 0, canvas.width, canvas.height);
    if (message) this.#overlay(message, scale);
    this.#last = rtp;
    this.drawn = message;
    this.#times.push(performance.now());
    canvas.dataset.rtp = rtp ?? '';
    canvas.dataset.frame = message ? message.frame : '';
    this.onDrawn(message);
  }

  #overlay(message, scale) {
    const seen = message.objects.filter((o) => o.area > 0);
    if (!seen.length) return;
    const { width, height } = this.#canvas;
    const context = this.#context;
    this.#paint(message.size, seen);
    const chosen = seen.find((o) => o.id === this.selected);
    this.#outline(1.6 * scale);
    context.globalAlpha = 0.36;
    context.drawImage(this.#mask, 0, 0, width, height);
    context.globalAlpha = 1;
    context.drawImage(this.#ring, 0, 0);
    if (chosen) { // a second, white outline around the chosen one
      this.#paint(message.size, [chosen], 0xffffffff);
      this.#outline(3.2 * scale, 1.6 * scale);
      context.drawImage(this.#ring, 0, 0);
    }
    for (const o of seen) this.#label(o, width / message.size[1], height / message.size[0], scale);
  }

  #paint([h, w], objects, colour) {
    resize(this.#mask, w, h);
    const context = this.#mask.getContext('2d', { willReadFrequently: true });
    const image = context.createImageData(w, h);
    const pixels = new Uint32Array(image.data.buffer);
    for (const o of objects) fill(o.segmentation.counts, h, w, pixels, colour ?? this.#pixel(o.id));
    context.putImageData(image, 0, 0);
  }

  // #outline is what lies within r of the masks, but not within inner of them.
  #outline(r, inner = 0) {
    const { width, height } = this.#canvas;
    resize(this.#ring, width, height);
    const context = this.#ring.getContext('2d');
    context.globalCompositeOperation = 'source-over';
    context.clearRect(0, 0, width, height);
    const around = (radius) => {
      for (let i = 0; i < 8; i++) {
        context.drawImage(this.#mask, radius * Math.cos(i * Math.PI / 4), radius * Math.sin(i * Math.PI / 4), width, height);
      }
    };
    around(r);
    context.globalCompositeOperation = 'destination-out';
    if (inner) around(inner);
    context.drawImage(this.#mask, 0, 0, width, height);
  }

  #label(o, sx, sy, scale) {
    const context = this.#context;
    const size = Math.round(11 * scale);
    context.font = `600 ${size}px system-ui, sans-serif`;
    const text = String(o.id);
    const w = context.measureText(text).width + size * 0.9;
    const h = size * 1.45;
    const x = Math.min(Math.max(0, (o.bbox[0] + o.bbox[2] / 2) * sx - w / 2), this.#canvas.width - w);
    const y = Math.max(0, o.bbox[1] * sy - h - 5 * scale);
    context.fillStyle = this.colours.get(o.id) ?? '#fff';
    context.beginPath();
    context.roundRect(x, y, w, h, h / 2);
    context.fill();
    context.fillStyle = '#0b0e13';
    context.textBaseline = 'middle';
    context.fillText(text, x + size * 0.45, y + h / 2 + scale * 0.5);
  }

  #pixel(id) {
    const n = parseInt((this.colours.get(id) ?? '#ffffff').slice(1), 16);
    return (0xff000000 | (n & 0xff) << 16 | n & 0xff00 | n >> 16) >>> 0;
  }
}

function resize(canvas, width, height) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}
