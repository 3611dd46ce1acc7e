"""Prints every mask that the tracker publishes: the stream, the frame, the object, how it does, and its number of pixels."""
import asyncio
import json
import sys

import nats
from pycocotools import mask as coco


async def main(url="nats://127.0.0.1:4222"):
    client = await nats.connect(url)
    subscription = await client.subscribe("tracker.*.object.*")
    parts = {}  # by subject: a mask too large for one message comes in several, in order
    async for message in subscription.messages:
        batch = json.loads(message.data)
        for mask in batch["masks"]:
            index, number = batch.get("part", [0, 1])
            joined = parts[message.subject] = parts.get(message.subject, [])[:index] + [mask.get("counts") or mask["counts_part"]]
            if index + 1 < number or len(joined) < number:  # more come, or one was lost
                continue
            pixels = coco.decode({"size": batch["size"], "counts": "".join(joined)})  # height × width, 0 and 1
            print(batch["stream"], mask["frame"], batch["object"], mask["state"], int(pixels.sum()), flush=True)


asyncio.run(main(*sys.argv[1:]))
