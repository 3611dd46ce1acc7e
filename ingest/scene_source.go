package ingest

import (
	"context"
	"io"
	"sync"
	"time"

	"maskstream/frames"
)

// sceneSource hands out a test scene, as a camera would where it is paced.
type sceneSource struct {
	scene   *TestScene
	shown   string
	frame   int
	started time.Time // when frame 0 was due
	buffers sync.Pool // of *[]byte: pictures given back
}

func openScene(t *target) (*sceneSource, error) {
	scene, err := ParseTestScene(t.open)
	if err != nil {
		return nil, err
	}
	return &sceneSource{scene: scene, shown: t.shown}, nil
}

func (s *sceneSource) next(ctx context.Context) (*frames.Picture, error) {
	sc := s.scene
	if sc.Frames > 0 && s.frame >= sc.Frames {
		return nil, io.EOF
	}
	at := time.Duration(float64(s.frame) / sc.FPS * float64(time.Second))
	if sc.Paced {
		if err := s.pace(ctx, at); err != nil {
			return nil, err
		}
	}
	size := 3 * sc.Width * sc.Height
	buffer, _ := s.buffers.Get().(*[]byte)
	if buffer == nil {
		b := make([]byte, size)
		buffer = &b
	}
	sc.Render(s.frame, *buffer)
	s.frame++
	p := &frames.Picture{
		Width: sc.Width, Height: sc.Height, Format: frames.RGB24, FullRange: true,
		Planes: [3][]byte{*buffer}, Strides: [3]int{3 * sc.Width},
		Meta: frames.Meta{PTS: at, Received: time.Now()},
	}
	return p.Own(func() { s.buffers.Put(buffer) }), nil
}

func (s *sceneSource) seek(_ context.Context, pts time.Duration) error {
	s.frame = int(pts.Seconds() * s.scene.FPS)
	return nil
}

// pace waits until a picture is due. A reader that fell a second behind is not made to catch up.
func (s *sceneSource) pace(ctx context.Context, at time.Duration) error {
	now := time.Now()
	if behind := now.Sub(s.started.Add(at)); s.frame == 0 || behind > time.Second {
		s.started = now.Add(-at)
	}
	timer := time.NewTimer(s.started.Add(at).Sub(now))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return &Error{Op: "reading", Source: s.shown, Kind: ctx.Err()}
	case <-timer.C:
		return nil
	}
}

func (s *sceneSource) info() Info {
	sc := s.scene
	return Info{
		Source: s.shown, Width: sc.Width, Height: sc.Height, FPS: sc.FPS, Frames: sc.Frames, Live: sc.Paced,
		Duration:  time.Duration(float64(sc.Frames) / sc.FPS * float64(time.Second)),
		Container: "testscene", Codec: "rawvideo", PixelFormat: "rgb24", ColourSpace: "rgb", ColourRange: "pc",
	}
}

func (s *sceneSource) decodeErrors() int64 { return 0 }
func (s *sceneSource) close()              {}
