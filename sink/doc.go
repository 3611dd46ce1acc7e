// Package sink is where results leave the process: files, NATS, the MJPEG preview.
//
// Each [Sink] runs on a goroutine of its own behind a bounded queue; a [Fanout] hands every item to all of them, so that none
// waits for another. What a full queue means is the sink's own policy: a file holds a file source back and loses nothing, a
// live sink drops its oldest item and counts it.
//
//	fanout := sink.NewFanout(logger)
//	fanout.Add("file", lines, sink.Options{Policy: queue.Wait, Kinds: sink.Results})
//	fanout.Add("preview", mjpeg, sink.Options{Capacity: 1, Policy: queue.DropOldest, Kinds: sink.Results | sink.Pictures})
//	group.Go(func() error { return fanout.Run(ctx) })
//	err := fanout.Publish(ctx, sink.Item{Result: result, Picture: picture}) // takes ownership of the picture's reference
//	fanout.End()                                                             // Run writes what is queued and returns
package sink
