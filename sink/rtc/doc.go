// Package rtc is the live preview: a stream's pictures and masks in a browser, by WebRTC.
//
// A [Server] has one UDP port and all viewers; it answers their offers as WHEP asks. A [Stream] takes pictures as they are decoded
// and, as a sink, their results when they are there. Each viewer has one goroutine behind a small mailbox, so that none delays
// another: it sends a picture's masks first, on the data channel "masks", and then the picture, both with the same RTP time stamp.
//
//	server, err := rtc.NewServer(rtc.Options{UDP: "127.0.0.1:8189", Log: log})
//	stream := server.Add("gate", rtc.StreamOptions{NewEncoder: newEncoder})
//	fanout.Add("webrtc", stream, sink.Options{Policy: queue.DropOldest, Kinds: sink.Results})
//	stream.Show(picture)                                           // every picture, before it is tracked
//	session, answer, err := server.Open(ctx, "gate", offer, query) // and Trickle, Close
//
// H.264 that a browser can play passes through as it came. Everything else is coded again, once for all viewers and only while there
// is one. A viewer that comes, or has lost something, between two key pictures of the source gets coded pictures until the next.
//
// This package is the only one that knows pion.
package rtc
