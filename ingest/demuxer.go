package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"maskstream/frames"
)

// demuxer reads whatever FFmpeg can open. All FFmpeg objects are used by one goroutine; only the interrupt is touched by
// others.
type demuxer struct {
	target  *target
	timeout time.Duration

	input     *astiav.FormatContext
	interrupt *interrupt
	stream    *astiav.Stream
	decoder   *decoder
	packet    *astiav.Packet
	described Info

	watched context.Context // whose end cancels the interrupt
	unwatch func() bool

	clocks  clocks
	coded   *codedPictures // nil where no browser could play them
	waiting int            // packets still to be skipped for want of a key frame
	read    int64          // packets of the stream
	given   int64          // pictures
	sought  bool           // somewhere: then read and given do not count what there is
	start   int64          // of a recording, in the stream's time base: its times count from 0
	end     error          // of reading: the end of the file, or what kept us from it
	pipe    int            // descriptor, -1 where there is none
	tunnel  *tunnel        // nil where FFmpeg connects by itself
	opened  bool
	closed  bool
}

// maxKeyframeWait is how many packets of a live source are skipped until a key frame: what comes before one is gray.
const maxKeyframeWait = 300

func openDemuxer(ctx context.Context, o Options, t *target) (_ *demuxer, err error) {
	if err := resolve(ctx, o, t); err != nil {
		return nil, err
	}
	if err := t.missing(); err != nil {
		return nil, err
	}
	from, pipe := t.open, -1
	if t.path != "" {
		if pipe, err = openPipe(ctx, t); err != nil {
			return nil, err
		}
		from = pipeURL(pipe)
	}
	var through *tunnel
	if t.tunnelled() {
		if through, err = openTunnel(ctx, o, t); err != nil {
			return nil, err
		}
		from = t.through(through)
	}
	ffmpegLog.hide(t.secrets)
	d := &demuxer{target: t, timeout: o.Timeout, pipe: pipe, tunnel: through, input: astiav.AllocFormatContext(), packet: astiav.AllocPacket()}
	d.interrupt = newInterrupt(d.input)
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	d.watch(ctx)
	if t.kind != kindFile {
		d.interrupt.within(o.Timeout)
	}
	options := astiav.NewDictionary()
	defer options.Free()
	for _, kv := range inputOptions(o, t) {
		if err := options.Set(kv[0], kv[1], 0); err != nil {
			return nil, d.failure("opening", err)
		}
	}
	var format *astiav.InputFormat
	if t.kind == kindDevice {
		astiav.RegisterAllDevices()
		format = astiav.FindInputFormat("v4l2")
	}
	if err := d.input.OpenInput(from, format, options); err != nil {
		return nil, explain(ctx, o, t, d.failure("opening", err))
	}
	d.opened = true
	// FFmpeg ignores names it does not know, and an ignored time-out hangs for ever.
	if left := unused(options); left != nil {
		return nil, &Error{Op: "opening", Source: t.shown, Kind: ErrUnsupported, Detail: fmt.Sprintf("FFmpeg %s does not know the option %q here", FFmpegVersion(), left.Key())}
	}
	if err := d.input.FindStreamInfo(nil); err != nil {
		return nil, d.failure("opening", err)
	}
	if d.interrupt.expired() || ctx.Err() != nil { // FindStreamInfo is content with what it has
		return nil, d.failure("opening", astiav.ErrExit)
	}
	if err := d.findVideo(o); err != nil {
		return nil, err
	}
	if !d.unwatch() { // ctx was for opening; it ended just now
		return nil, d.failure("opening", astiav.ErrExit)
	}
	d.watched, d.unwatch = nil, nil
	d.interrupt.within(0)
	return d, nil
}

// watch makes the end of ctx end whatever FFmpeg is waiting in.
func (d *demuxer) watch(ctx context.Context) {
	if d.watched == ctx {
		return
	}
	if d.unwatch != nil {
		d.unwatch()
	}
	d.watched, d.unwatch = ctx, context.AfterFunc(ctx, d.interrupt.cancel)
}

func (d *demuxer) failure(op string, err error) error {
	return d.target.failure(d.watched, op, err, d.interrupt.expired(), d.timeout)
}

// findVideo opens the decoder of the first video stream that has a picture size.
func (d *demuxer) findVideo(o Options) error {
	for _, s := range d.input.Streams() {
		if c := s.CodecParameters(); c.MediaType() == astiav.MediaTypeVideo && c.Width() > 0 && c.Height() > 0 {
			d.stream = s
			break
		}
	}
	if name, unknown := unknownCodec(d.input.Streams()); d.stream == nil && unknown {
		return &Error{Op: "opening", Source: d.target.shown, Kind: ErrCodec, Detail: fmt.Sprintf("FFmpeg %s has no decoder for its video%s", FFmpegVersion(), name), Hint: "set the camera to H.264 or H.265"}
	}
	if d.stream == nil {
		return &Error{Op: "opening", Source: d.target.shown, Kind: ErrNoVideo, Detail: "there is no video stream with a picture size", Hint: "check that the source has video"}
	}
	c := d.stream.CodecParameters()
	if c.Width()*c.Height() > o.MaxPixels {
		return &Error{Op: "opening", Source: d.target.shown, Kind: ErrTooLarge, Detail: fmt.Sprintf("%d×%d is more than %d pixels", c.Width(), c.Height(), o.MaxPixels)}
	}
	duration := d.input.Duration()
	if d.target.kind == kindNetwork && !d.target.live {
		d.target.live = !recorded(d.input)
	}
	if d.target.live {
		d.waiting = maxKeyframeWait
	} else if start := d.stream.StartTime(); start > -1<<62 {
		d.start = start
	}
	var err error
	if d.decoder, err = newDecoder(c, o, d.target.live); err != nil {
		return d.failure("opening", err)
	}
	d.decoder.rotation = rotationOf(d.stream.SideData(astiav.PacketSideDataTypeDisplaymatrix))
	d.decoder.turned = d.decoder.rotation
	d.describe(c, duration)
	if passed, _ := d.described.Preview(); passed {
		d.coded = newCodedPictures(c.ExtraData())
	}
	return nil
}

func (d *demuxer) describe(c *astiav.CodecParameters, duration int64) {
	i := Info{
		Source: d.target.shown, Live: d.target.live, Container: d.input.InputFormat().Name(), Codec: c.CodecID().Name(), Profile: int(c.Profile()),
		PixelFormat: c.PixelFormat().Name(), ColourSpace: spaceName(c.ColorSpace()), ColourRange: rangeName(c.ColorRange(), c.PixelFormat()),
		Rotation: d.decoder.rotation, BFrames: reorderDelay(d.input, d.stream.Index()) > 0, Once: d.pipe >= 0,
	}
	i.Width, i.Height = (&frames.Picture{Width: c.Width(), Height: c.Height(), Rotation: i.Rotation}).DisplaySize()
	rate := d.input.GuessFrameRate(d.stream, nil)
	if rate.Num() > 0 && rate.Den() > 0 {
		i.FPS = rate.Float64()
	}
	if duration > 0 {
		i.Duration = time.Duration(duration) * time.Microsecond
	}
	if i.Frames = int(d.stream.NbFrames()); i.Frames == 0 && !i.Live {
		i.Frames = int(i.FPS*i.Duration.Seconds() + 0.5)
	}
	d.described = i
}

func (d *demuxer) info() Info { return d.described }

func (d *demuxer) decodeErrors() int64 {
	if d.decoder == nil {
		return 0
	}
	return d.decoder.refused
}

func (d *demuxer) next(ctx context.Context) (*frames.Picture, error) {
	d.watch(ctx)
	if d.target.kind != kindFile {
		d.interrupt.within(d.timeout) // for a picture, not for a packet: sound alone is a stall
	}
	for {
		p, err := d.decoder.receive()
		switch {
		case err == nil:
			d.given++
			d.stamp(p)
			p.Coded = d.coded.take(p.timestamp)
			return p.Picture, nil
		case errors.Is(err, io.EOF):
			if d.given == 0 {
				return nil, &Error{Op: "reading", Source: d.target.shown, Kind: ErrCorrupt, Detail: "not one picture could be decoded", Hint: "check that the file is complete"}
			}
			d.warn()
			return nil, io.EOF
		case !errors.Is(err, errNeedsData):
			return nil, d.failure("reading", err)
		}
		if err := d.feed(); err != nil {
			return nil, err
		}
	}
}

// feed reads one packet and gives it to the decoder; at the end it makes the decoder hand out what it holds back.
func (d *demuxer) feed() error {
	d.packet.Unref()
	err := d.input.ReadFrame(d.packet)
	switch {
	case d.watched.Err() != nil || d.interrupt.expired():
		return d.failure("reading", astiav.ErrExit)
	case errors.Is(err, astiav.ErrEagain):
		time.Sleep(2 * time.Millisecond)
		return nil
	case err != nil:
		if d.target.live && !errors.Is(err, astiav.ErrEof) {
			return d.failure("reading", err)
		}
		d.end = err
		d.decoder.drain()
		return nil
	case d.packet.StreamIndex() != d.stream.Index():
		return nil
	}
	d.read++
	if d.waiting > 0 && !d.packet.Flags().Has(astiav.PacketFlagKey) {
		d.waiting--
		return nil
	}
	d.waiting = 0
	d.coded.add(d.packet)
	if d.target.live {
		d.clocks.add(d.packet.Pts(), clock{received: time.Now(), captured: cameraClock(d.packet)})
	}
	d.decoder.send(d.packet)
	return nil
}

// stamp gives the picture its times.
func (d *demuxer) stamp(p decoded) {
	tb := d.stream.TimeBase()
	t, ok := p.timestamp, p.timed
	m := &p.Picture.Meta
	switch {
	case ok:
		m.PTS = time.Duration(rescale((t-d.start)*int64(tb.Num()), int64(time.Second), int64(tb.Den())))
	case d.described.FPS > 0:
		m.PTS = time.Duration(float64(d.given-1) / d.described.FPS * float64(time.Second))
	}
	c, known := d.clocks.find(t)
	if !known {
		c.received = time.Now()
	}
	m.Received, m.Captured = c.received, c.captured
}

func (d *demuxer) close() {
	if d.closed {
		return
	}
	d.closed = true
	if d.unwatch != nil {
		d.unwatch()
	}
	if d.decoder != nil {
		d.decoder.close()
	}
	d.packet.Free()
	if d.opened { // a failed OpenInput has freed the context
		d.input.CloseInput()
	}
	if d.pipe >= 0 {
		_ = unix.Close(d.pipe)
	}
	if d.tunnel != nil {
		d.tunnel.close()
	}
	d.interrupt.free()
	ffmpegLog.unhide(d.target.secrets)
}
