// Masks as they travel: COCO's run-length strings, and the chunks of the data channel.

// runs are the lengths of a mask's runs, which begin with one that is not in the mask.
export function runs(counts) {
  const out = new Uint32Array(counts.length);
  let n = 0;
  for (let p = 0; p < counts.length;) {
    let x = 0;
    let shift = 0;
    let c;
    do {
      c = counts.charCodeAt(p++) - 48;
      x |= (c & 0x1f) << shift;
      shift += 5;
    } while (c & 0x20);
    if (c & 0x10 && shift < 32) x |= -1 << shift;
    if (n > 2) x += out[n - 2];
    out[n++] = x;
  }
  return out.subarray(0, n);
}

// fill paints a mask of h×w, whose runs go down the columns, into pixels that go along the rows.
export function fill(counts, h, w, pixels, colour) {
  let p = 0;
  let inside = false;
  for (const n of runs(counts)) {
    if (inside) {
      let x = (p / h) | 0;
      let y = p - x * h;
      for (let left = n; left > 0; x++) {
        const rows = Math.min(left, h - y);
        for (let i = y * w + x, end = i + rows * w; i < end; i += w) pixels[i] = colour;
        left -= rows;
        y = 0;
      }
    }
    p += n;
    inside = !inside;
  }
}

const header = 12; // bytes: frame id, chunk index, number of chunks, little-endian
const mostChunks = 4096;
const mostOpen = 8; // messages that lack chunks: a lost chunk loses its message only

// Assembler puts chunks together that come in any order.
export class Assembler {
  #open = new Map();

  // add returns the whole message once its last chunk is there, else null.
  add(buffer) {
    const d = new DataView(buffer);
    const id = d.getUint32(0, true);
    const index = d.getUint32(4, true);
    const count = d.getUint32(8, true);
    const chunk = new Uint8Array(buffer, header);
    if (count === 1) return chunk;
    if (count > mostChunks || index >= count) return null;
    let message = this.#open.get(id);
    if (!message) {
      message = { chunks: new Array(count), missing: count, size: 0 };
      this.#open.set(id, message);
      if (this.#open.size > mostOpen) this.#open.delete(this.#open.keys().next().value);
    }
    if (message.chunks[index]) return null;
    message.chunks[index] = chunk;
    message.size += chunk.length;
    if (--message.missing > 0) return null;
    this.#open.delete(id);
    const whole = new Uint8Array(message.size);
    let at = 0;
    for (const c of message.chunks) {
      whole.set(c, at);
      at += c.length;
    }
    return whole;
  }
}
