package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"maskstream/configs"
	"maskstream/control"
	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/internal/queue"
	"maskstream/internal/stream"
	"maskstream/model/amg"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/sink/rtc"
	"maskstream/tensor"
)

// camera is one configured stream with its network and its sinks.
type camera struct {
	name    string
	fanout  *sink.Fanout
	stream  *stream.Stream
	preview *rtc.Stream

	giveBack func() error // the network
	pools    []*tensor.Pool
	log      *slog.Logger
}

// storeQueue is how many results and events may wait to be stored.
const storeQueue = 256

// newCamera, one of so many streams, loads the model and wires the sinks; nothing runs yet. Each has a run of its own: numbers begin
// anew in it.
func newCamera(c configs.Stream, streams int, source ingest.Options, w wiring) (*camera, error) {
	if err := checkDevice(c.Device); err != nil {
		return nil, err
	}
	prompts, err := startPrompts(c.Prompts)
	if err != nil {
		return nil, usageError{err}
	}
	nats, bus := w.nats, w.bus
	live := c.Policy == "newest" && !ingest.Recorded(string(c.URL))
	publisher, err := sink.NewNATS(bus.connection, sink.StreamOptions{
		Prefix: nats.Prefix, Stream: c.Name, Frames: nats.Frames, Store: bus.store, Hold: !live,
		Batch: rle.Limits{Count: nats.Batch.Count, Bytes: int(nats.Batch.Bytes), Age: time.Duration(nats.Batch.Age)},
	})
	if err != nil {
		return nil, usageError{err}
	}
	pools, err := newHomes(c.Offload.Video, c.Offload.State, poolSizes{c.NetworkBytes, c.HostBytes, streams})
	if err != nil {
		return nil, err
	}
	network, giveBack, err := w.models.open(c.Model, c.ModelConfig, pools.network)
	if err != nil {
		return nil, err
	}
	var auto *amg.Options
	if c.Auto {
		options := amg.Default()
		auto = &options
	}
	log := w.log.With("stream", c.Name)
	preview := w.viewers.Add(c.Name, rtc.StreamOptions{NewEncoder: func(codec frames.Codec) rtc.Encoder { return ingest.NewLiveEncoder(codec) }})
	mjpeg := sink.NewMJPEG(sink.MJPEGOptions{Log: log})
	fanout := sink.NewFanout(log)
	published := sink.Options{Policy: queue.DropOldest, Kinds: sink.Results | sink.Events | sink.Statuses}
	if bus.store != nil { // which takes what it gets at once, unless the disk is slow, or holds a recording back
		published.Capacity = storeQueue
		if !live {
			published.Policy = queue.Wait
		}
	}
	fanout.Add("nats", publisher, published)
	fanout.Add("preview", mjpeg, sink.Options{Capacity: 1, Policy: queue.DropOldest, Kinds: sink.Results | sink.Pictures})
	fanout.Add("webrtc", preview, sink.Options{Policy: queue.DropOldest, Kinds: sink.Results})

	feed := &feed{options: source, preview: preview, log: log}
	feed.options.Counters = &ingest.Counters{}
	feed.stream = stream.New(stream.Config{
		Name: c.Name, Run: newRunID(), Live: live, Source: feed,
		Converter: frames.NewConverter(network.Config().ImageSize, pools.video),
		Network:   network, Out: fanout, Sinks: fanout.Stats, Preview: mjpeg, Viewers: mjpeg.Viewers, Faults: feed.faults,
		WebRTC:   func() *control.WebRTCStatus { return webrtcStatus(preview.Stats()) },
		Tracking: propagate.Options{FillHoleArea: 8, CorrectAsConditioning: true, MaxConditioning: &c.Memory.MaxConditioning, MotionAware: c.Memory.MotionAware, State: pools.state, Overflow: pools.overflow()},
		History:  c.History, HistoryBytes: pools.frames(int64(c.HistoryBytes)), HistoryPool: pools.video, Pools: pools.all(),
		Prompts: prompts, Auto: auto, MaxObjects: c.MaxObjects, LostAfter: time.Duration(c.LostAfter), Log: log,
	})
	return &camera{name: c.Name, fanout: fanout, stream: feed.stream, preview: preview, giveBack: giveBack, pools: pools.all(), log: log}, nil
}

// run works until the source ends or ctx does; then what is queued leaves, the news of the end included.
func (c *camera) run(ctx context.Context) error {
	sinks, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	var group errgroup.Group
	group.Go(func() error { return c.fanout.Run(sinks) })
	err := c.stream.Run(ctx)
	c.fanout.End()
	defer context.AfterFunc(ctx, hurry)()
	return outOfRoom(errors.Join(err, group.Wait()), "give the stream more network_bytes and host_bytes, or keep less history")
}

// close is once for every camera, when it does not run any more.
func (c *camera) close() {
	_ = c.preview.Close(context.Background()) // once more, where it never ran
	if err := c.giveBack(); err != nil {
		c.log.Error("the network did not close well", "error", err)
	}
	for _, pool := range c.pools {
		pool.Trim()
	}
}

// feed keeps the source alive and tells the stream how it is doing.
type feed struct {
	options ingest.Options
	stream  *stream.Stream
	preview *rtc.Stream
	log     *slog.Logger
	trouble string // told last; "" while it is up
}

// Run implements stream.Source.
func (f *feed) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	show := func(p *frames.Picture) error {
		f.preview.Show(p)
		return emit(p)
	}
	return ingest.Run(ctx, f.options, show, func(e ingest.Event) {
		switch e.Kind {
		case ingest.Up:
			f.log.Info("stream is up", "size", fmt.Sprintf("%d×%d", e.Info.Width, e.Info.Height))
			f.preview.Source(e.Info.Preview())
			f.trouble = ""
			f.stream.Recorded(!e.Info.Live)
			f.stream.Up(ctx)
		case ingest.Down:
			if trouble := e.Err.Error(); trouble != f.trouble { // it is tried again and again, and mostly fails alike
				f.log.Warn("stream is down, trying on", "error", trouble)
				f.trouble = trouble
			}
			f.stream.Down(ctx, e.Err)
		case ingest.NewEpoch:
			f.log.Info("new epoch", "epoch", e.Epoch, "reason", e.Reason)
		}
	})
}

// webrtcStatus is what the live preview tells of itself, in the words of the control doors.
func webrtcStatus(s rtc.Stats) *control.WebRTCStatus {
	status := &control.WebRTCStatus{Viewers: s.Viewers, Mode: "low-latency", Reason: s.Reason, Dropped: s.Dropped, Buffered: s.Buffered}
	if s.Locked {
		status.Mode = "locked"
	}
	switch {
	case s.Passed:
		status.Video = control.VideoPassed
	case s.Reason != "":
		status.Video = control.VideoCoded
	}
	return status
}

// faults are what is wrong with the source so far.
func (f *feed) faults() (decodeErrors, timestampJumps int64) {
	return f.options.Counters.DecodeErrors.Load(), f.options.Counters.TimestampJumps.Load()
}

// sourceOptions is how a stream's source is opened.
func sourceOptions(c configs.Stream) (ingest.Options, error) {
	password := string(c.Password)
	if c.PasswordFile != "" {
		secret, err := configs.ReadSecret(c.PasswordFile)
		if err != nil {
			return ingest.Options{}, fmt.Errorf("password_file: %w", err)
		}
		password = secret
	}
	return ingest.Options{
		URL: string(c.URL), Username: c.Username, Password: password, Transport: c.Transport,
		CAFile: c.TLS.CAFile, AnyCertificate: !c.TLS.Verify, Loop: c.Loop, Timeout: time.Duration(c.Timeout),
	}, nil
}

// startPrompts are the configured prompts as the stream takes them.
func startPrompts(configured []configs.Prompt) ([]stream.Prompt, error) {
	prompts := make([]stream.Prompt, len(configured))
	for i, c := range configured {
		p := stream.Prompt{Object: &configured[i].Object, Prompt: propagate.Prompt{Labels: c.Labels}}
		for _, point := range c.Points {
			p.Points = append(p.Points, [2]float32{float32(point[0]), float32(point[1])})
		}
		if b := c.Box; len(b) == 4 {
			p.Box = &[4]float32{float32(b[0]), float32(b[1]), float32(b[2]), float32(b[3])}
		}
		if c.Mask != nil {
			mask, err := rle.Parse(c.Mask.Size[0], c.Mask.Size[1], c.Mask.Counts)
			if err != nil {
				return nil, fmt.Errorf("prompts[%d].mask: %w", i, err)
			}
			p.Mask = &mask
		}
		prompts[i] = p
	}
	return prompts, nil
}
