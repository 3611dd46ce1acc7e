// Prints every mask that the tracker publishes: the stream, the frame, the object, how it does, and its number of pixels.
import { connect } from "@nats-io/transport-node";

// decode turns COCO's counts into pixels, 0 and 1, column after column.
function decode([height, width], counts) {
  const pixels = new Uint8Array(height * width);
  const runs = [];
  for (let i = 0, end = 0; i < counts.length; ) {
    let run = 0, shift = 0, bits;
    do { // five bits a character, the lowest first, with a sign
      bits = counts.charCodeAt(i++) - 48;
      run |= (bits & 31) << shift;
      shift += 5;
    } while (bits & 32);
    if (bits & 16) run |= -1 << shift;
    if (runs.length > 2) run += runs.at(-2);
    pixels.fill(runs.length % 2, end, (end += run));
    runs.push(run);
  }
  return pixels;
}

const client = await connect({ servers: process.argv[2] ?? "nats://127.0.0.1:4222" });
const parts = {}; // by subject: a mask too large for one message comes in several, in order
for await (const message of client.subscribe("tracker.*.object.*")) {
  const batch = message.json();
  for (const mask of batch.masks) {
    const [index, number] = batch.part ?? [0, 1];
    const joined = (parts[message.subject] = [...(parts[message.subject] ?? []).slice(0, index), mask.counts ?? mask.counts_part]);
    if (index + 1 < number || joined.length < number) continue; // more come, or one was lost
    const pixels = decode(batch.size, joined.join(""));
    console.log(batch.stream, mask.frame, batch.object, mask.state, pixels.reduce((sum, pixel) => sum + pixel, 0));
  }
}
