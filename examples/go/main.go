// Command go prints every mask that the tracker publishes: the stream, the frame, the object, how it does, and its number of pixels.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

func main() {
	client, err := nats.Connect(append(os.Args, nats.DefaultURL)[1])
	if err != nil {
		log.Fatal(err)
	}
	messages := make(chan *nats.Msg, 1024)
	if _, err := client.ChanSubscribe("tracker.*.object.*", messages); err != nil {
		log.Fatal(err)
	}
	var parts rle.Assembler // a mask too large for one message comes in several
	for message := range messages {
		var batch rle.Batch
		if err := json.Unmarshal(message.Data, &batch); err != nil {
			log.Fatal(err)
		}
		batch, complete, err := parts.Add(batch)
		if err != nil || !complete { // a part that does not fit, or more come
			continue
		}
		for _, mask := range batch.Masks {
			pixels, err := rle.Parse(batch.Size[0], batch.Size[1], *mask.Counts)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(batch.Stream, mask.Frame, batch.Object, mask.State, pixels.Area())
		}
	}
}
