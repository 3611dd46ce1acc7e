package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// imageRate is the nominal frame rate of a folder, which FFmpeg assumes too.
const imageRate = 25

// maxImageBytes is room for the largest pictures there are, uncompressed.
const maxImageBytes = 1 << 30

// images reads still images in order, decoded by FFmpeg: PNG gives its exact bytes.
type images struct {
	target   *target
	options  Options
	files    []string
	position int
	pending  *frames.Picture // the first one, decoded to know its size

	decoders map[string]*decoder // by codec
	packet   *astiav.Packet
	size     Info
}

func isImage(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return false
}

func openImages(o Options, t *target) (*images, error) {
	files, err := imageFiles(t)
	if err != nil {
		return nil, err
	}
	s := &images{target: t, options: o, files: files, decoders: map[string]*decoder{}, packet: astiav.AllocPacket()}
	first, err := s.decode(0)
	if err != nil {
		s.close()
		return nil, err
	}
	s.pending = first
	return s, nil
}

// imageFiles is the image itself, or a folder's images in the order of their numbers.
func imageFiles(t *target) ([]string, error) {
	entries, err := os.ReadDir(t.open)
	if err != nil {
		return []string{t.open}, nil // not a folder
	}
	type numbered struct {
		number int
		name   string
	}
	var found []numbered
	for _, e := range entries {
		if e.IsDir() || !isImage(e.Name()) {
			continue
		}
		stem := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		n, err := strconv.Atoi(stem)
		if err != nil {
			return nil, &Error{Op: "opening", Source: t.shown, Kind: ErrInvalid,
				Detail: fmt.Sprintf("the name of %s is not a number", e.Name()), Hint: "name the images 0.png, 1.png, …, or take others out of the folder"}
		}
		found = append(found, numbered{n, e.Name()})
	}
	if len(found) == 0 {
		return nil, &Error{Op: "opening", Source: t.shown, Kind: ErrNoVideo, Detail: "the folder has no .png, .jpg or .jpeg"}
	}
	slices.SortFunc(found, func(a, b numbered) int {
		if a.number != b.number {
			return a.number - b.number
		}
		return strings.Compare(a.name, b.name)
	})
	files := make([]string, len(found))
	for i, f := range found {
		files[i] = filepath.Join(t.open, f.name)
	}
	return files, nil
}

func (s *images) next(context.Context) (*frames.Picture, error) {
	if s.position == len(s.files) {
		return nil, io.EOF
	}
	p := s.pending
	s.pending = nil
	if p == nil {
		var err error
		if p, err = s.decode(s.position); err != nil {
			return nil, err
		}
	}
	p.Meta.PTS = time.Duration(s.position) * time.Second / imageRate
	p.Meta.Received = time.Now()
	s.position++
	return p, nil
}

func (s *images) seek(_ context.Context, pts time.Duration) error {
	s.pending.Release()
	s.pending = nil
	s.position = min(int(rescale(int64(pts), imageRate, int64(time.Second))), len(s.files))
	return nil
}

func (s *images) decode(i int) (*frames.Picture, error) {
	path := s.files[i]
	failed := func(kind error, detail, hint string) error {
		return &Error{Op: "reading", Source: path, Kind: kind, Detail: detail, Hint: hint}
	}
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > maxImageBytes) {
		return nil, failed(ErrInvalid, "it is no file of at most 1 GiB", "take it out of the folder")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, failed(ErrNotFound, "it cannot be read", "check its permissions")
	}
	codec := ""
	switch {
	case strings.HasPrefix(string(data[:min(4, len(data))]), "\x89PNG"):
		codec = "png"
	case strings.HasPrefix(string(data[:min(2, len(data))]), "\xff\xd8"):
		codec = "mjpeg"
	default:
		return nil, failed(ErrCorrupt, "it is neither PNG nor JPEG", "check the file")
	}
	d := s.decoders[codec]
	if d == nil {
		if d, err = openDecoder(astiav.FindDecoderByName(codec), nil, s.options, false); err != nil {
			return nil, failed(ErrUnsupported, err.Error(), "")
		}
		s.decoders[codec] = d
	}
	if err := fillPacket(s.packet, data); err != nil {
		return nil, failed(ErrCorrupt, err.Error(), "")
	}
	d.send(s.packet)
	p, err := d.receive()
	if errors.Is(err, errNeedsData) {
		return nil, failed(ErrCorrupt, "it cannot be decoded, or is larger than "+strconv.Itoa(s.options.MaxPixels)+" pixels", "check the file")
	}
	if err != nil {
		return nil, failed(ErrCorrupt, err.Error(), "check the file")
	}
	if s.size.Codec == "" {
		w, h := p.DisplaySize()
		s.size = Info{Source: s.target.shown, Width: w, Height: h, FPS: imageRate, Frames: len(s.files), Duration: time.Duration(len(s.files)) * time.Second / imageRate,
			Container: "images", Codec: codec, PixelFormat: d.context.PixelFormat().Name(), ColourSpace: spaceName(d.context.ColorSpace()),
			ColourRange: rangeName(d.context.ColorRange(), d.context.PixelFormat()), Rotation: p.Rotation}
	}
	return p.Picture, nil
}

func (s *images) info() Info          { return s.size }
func (s *images) decodeErrors() int64 { return 0 }

func (s *images) close() {
	s.pending.Release()
	s.pending = nil
	s.position = len(s.files)
	for name, d := range s.decoders {
		d.close()
		delete(s.decoders, name)
	}
	if s.packet != nil {
		s.packet.Free()
		s.packet = nil
	}
}
