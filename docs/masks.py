"""Prints every mask that the tracker publishes: the stream, the frame, the object, how it does, and its number of pixels."""
import asyncio
import json
import sys

import nats
from pycocotools import mask as coco


async def main(url="nats://127.0.0.1:4222"):
    client = await nats.connect(url)
    subscription = await client.subscribe("tracker.*.object.*")
    async for message in subscription.messages:
        batch = json.loads(message.data)
        for mask in batch["masks"]:
            if "counts" not in mask:  # part of a mask too large for one message: join its "counts_part" strings
                continue
            pixels = coco.decode({"size": batch["size"], "counts": mask["counts"]})  # height × width, 0 and 1
            print(batch["stream"], mask["frame"], batch["object"], mask["state"], int(pixels.sum()), flush=True)


asyncio.run(main(*sys.argv[1:]))
