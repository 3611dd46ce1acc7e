// Package ingest turns anything FFmpeg reads into pictures: files, cameras, image folders and a built-in test scene.
//
// [Open] gives a [Reader], which hands out one decoded picture after another, upright size and colour described, its planes
// still in the decoder's memory. [Run] keeps a camera alive: it reconnects for ever, numbers epochs and says when a stream
// goes up and down.
//
//	reader, err := ingest.Open(ctx, ingest.Options{URL: "rtsp://camera.example/main", Username: "admin", Password: secret})
//	defer reader.Close()
//	picture, err := reader.Next(ctx) // io.EOF at the end; the reference is the caller's
//
// This package is the only one that knows FFmpeg. What differs between FFmpeg's versions is in ffmpeg51.go. No message of
// FFmpeg reaches the outside but through log/slog, with credentials taken out.
package ingest
