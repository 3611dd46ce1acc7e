package ingest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"

	"maskstream/rle"
)

// TestScene is a moving scene for demos and tests without a camera: over a textured, slowly panning background a ball
// bounces (object 1, the one to point at), a box crosses in front of it (2), and a disc drifts behind both (3). What is seen
// depends on the options and the frame's number alone, so the truth about every frame can be asked for.
type TestScene struct {
	Width, Height int
	FPS           float64
	Frames        int  // 0 is endless
	Paced         bool // pictures come in real time
	Numbered      bool // each picture shows its number: see scene_number.go

	background []byte // RGB, larger than a picture by pan on each side
	pan        int
	phase      [2]float64
}

// ParseTestScene reads testscene:?size=640x360&fps=25&frames=0&seed=1&pace=1&number=0, where everything after the colon may be left
// out. frames=0 is endless; pace=0 gives pictures as fast as they are taken.
func ParseTestScene(address string) (*TestScene, error) {
	invalid := func(detail string) (*TestScene, error) {
		return nil, &Error{Op: "opening", Source: address, Kind: ErrInvalid, Detail: detail, Hint: "write testscene:?size=640x360&fps=25&frames=0&seed=1&pace=1&number=0"}
	}
	rest, ok := strings.CutPrefix(address, "testscene:")
	if !ok || (rest != "" && rest[0] != '?') {
		return invalid("not a test scene")
	}
	values, err := url.ParseQuery(strings.TrimPrefix(rest, "?"))
	if err != nil {
		return invalid("its options cannot be read")
	}
	s := &TestScene{Width: 640, Height: 360, FPS: 25, Paced: true}
	seed := uint64(1)
	for key, v := range values {
		var err error
		switch value := v[len(v)-1]; key {
		case "size":
			w, h, _ := strings.Cut(value, "x")
			if s.Width, err = strconv.Atoi(w); err == nil {
				s.Height, err = strconv.Atoi(h)
			}
			if err == nil && (min(s.Width, s.Height) < 16 || max(s.Width, s.Height) > 8192) {
				err = strconv.ErrRange
			}
		case "fps":
			if s.FPS, err = strconv.ParseFloat(value, 64); err == nil && !(s.FPS > 0 && s.FPS <= 1000) {
				err = strconv.ErrRange
			}
		case "frames":
			if s.Frames, err = strconv.Atoi(value); err == nil && s.Frames < 0 {
				err = strconv.ErrRange
			}
		case "seed":
			seed, err = strconv.ParseUint(value, 10, 64)
		case "pace":
			s.Paced, err = strconv.ParseBool(value)
		case "number":
			s.Numbered, err = strconv.ParseBool(value)
		default:
			return invalid(fmt.Sprintf("the option %q is unknown", key))
		}
		if err != nil {
			return invalid(fmt.Sprintf("the value %q of %s", v[len(v)-1], key))
		}
	}
	random := rand.New(rand.NewPCG(seed, 0x6d61736b))
	s.phase = [2]float64{random.Float64(), random.Float64()}
	s.pan = max(4, s.Height/20)
	s.background = paintBackground(s.Width+2*s.pan, s.Height+2*s.pan, random)
	return s, nil
}

// Objects is how many objects there are, numbered from 1.
func (s *TestScene) Objects() int { return 3 }

// shape is an object at one time: where it can be, how far a point is inside (in pixels, negative is outside), and its
// colour there.
type shape struct {
	x0, y0, x1, y1 int // pixels it may touch, within the picture
	inside         func(x, y float64) float64
	colour         func(x, y float64) [3]float64
}

// shapes are the objects of a frame from back to front, with their numbers.
func (s *TestScene) shapes(frame int) (all [3]shape, objects [3]int) {
	t := float64(frame) / s.FPS
	w, h := float64(s.Width), float64(s.Height)
	unit := min(w, h)
	return [3]shape{s.disc(t, w, h, unit), s.ball(t, w, h, unit), s.box(t, w, h, unit)}, [3]int{3, 1, 2}
}

// ball swings from side to side in 9 s and bounces every 2.4 s.
func (s *TestScene) ball(t, w, h, unit float64) shape {
	r := 0.17 * unit
	u := math.Mod(t/2.4+s.phase[0], 1)
	cx := w/2 + 0.3*w*math.Sin(2*math.Pi*(t/9+s.phase[1]))
	cy := h - 0.06*h - r - 0.4*h*4*u*(1-u)
	return s.shape(cx, cy, r, r,
		func(x, y float64) float64 { return r - math.Hypot(x-cx, y-cy) },
		func(x, y float64) [3]float64 {
			nx, ny := (x-cx)/r, (y-cy)/r
			nz := math.Sqrt(max(0, 1-nx*nx-ny*ny))
			light := max(0, -0.45*nx-0.6*ny+0.66*nz)
			shine := light * light
			shine *= shine
			shine *= shine
			shine *= shine // to the 16th
			k := 0.35 + 0.65*light
			return [3]float64{235*k + 150*shine, 92*k + 150*shine, 38*k + 150*shine}
		})
}

// box crosses from left to right in 11 s, turning slowly, and starts outside.
func (s *TestScene) box(t, w, h, unit float64) shape {
	a, b, corner := 0.2*unit, 0.13*unit, 0.04*unit
	reach := math.Hypot(a, b)
	cx := -1.3*reach + (w+2.6*reach)*math.Mod(t/11, 1)
	cy := 0.6 * h
	sin, cos := math.Sincos(0.5 * math.Sin(t/2.3))
	return s.shape(cx, cy, reach, reach,
		func(x, y float64) float64 {
			dx, dy := math.Abs((x-cx)*cos+(y-cy)*sin)-a+corner, math.Abs((y-cy)*cos-(x-cx)*sin)-b+corner
			return corner - math.Hypot(max(dx, 0), max(dy, 0)) - min(max(dx, dy), 0)
		},
		func(x, y float64) [3]float64 {
			v := ((y-cy)*cos - (x-cx)*sin) / b
			k := 0.75 - 0.25*v
			if math.Abs(v) < 0.18 { // a lighter band along it
				return [3]float64{215 * k, 225 * k, 190 * k}
			}
			return [3]float64{35 * k, 125 * k, 190 * k}
		})
}

// disc drifts on an ellipse in the upper half.
func (s *TestScene) disc(t, w, h, unit float64) shape {
	r := 0.11 * unit
	angle := 2 * math.Pi * (t/13 + s.phase[1])
	cx, cy := w/2-0.36*w*math.Cos(angle), 0.26*h+0.1*h*math.Sin(2*angle)
	return s.shape(cx, cy, r, r,
		func(x, y float64) float64 { return r - math.Hypot(x-cx, y-cy) },
		func(x, y float64) [3]float64 {
			k := 0.8 + 0.3*((y-cy)-(x-cx))/(2*r)
			return [3]float64{240 * k, 205 * k, 60 * k}
		})
}

func (s *TestScene) shape(cx, cy, rx, ry float64, inside func(x, y float64) float64, colour func(x, y float64) [3]float64) shape {
	return shape{
		x0: max(0, int(cx-rx)-1), y0: max(0, int(cy-ry)-1), x1: min(s.Width, int(cx+rx)+2), y1: min(s.Height, int(cy+ry)+2),
		inside: inside, colour: colour,
	}
}

// Render paints a frame into RGB bytes, 3·Width·Height of them.
func (s *TestScene) Render(frame int, rgb []byte) {
	t := float64(frame) / s.FPS
	dx := s.pan + int(math.Round(float64(s.pan)*math.Sin(t/3.1)))
	dy := s.pan + int(math.Round(float64(s.pan)*0.6*math.Sin(t/4.3)))
	stride := 3 * (s.Width + 2*s.pan)
	for y := range s.Height {
		copy(rgb[3*s.Width*y:][:3*s.Width], s.background[(y+dy)*stride+3*dx:])
	}
	shapes, _ := s.shapes(frame)
	for _, o := range shapes {
		for y := o.y0; y < o.y1; y++ {
			row := rgb[3*s.Width*y:][:3*s.Width]
			for x := o.x0; x < o.x1; x++ {
				px, py := float64(x)+0.5, float64(y)+0.5
				cover := min(o.inside(px, py)+0.5, 1)
				if cover <= 0 {
					continue
				}
				c := o.colour(px, py)
				for i, v := range c {
					p := &row[3*x+i]
					*p = byte(min(max(float64(*p)*(1-cover)+v*cover, 0), 255))
				}
			}
		}
	}
	if s.Numbered {
		s.paintNumber(frame, rgb)
	}
}

// Mask is the visible part of an object (1 to Objects) on a frame: the pixels more than half of which it covers.
func (s *TestScene) Mask(frame, object int) rle.Mask {
	m := rle.Mask{Height: s.Height, Width: s.Width}
	seen, x0, y0, x1, y1 := s.visible(frame, object)
	end := 0 // of the last run, column by column
	for x := x0; x < x1; x++ {
		column := func(y int) bool { return y < y1 && seen[(y-y0)*(x1-x0)+x-x0] }
		for y := y0; y < y1; y++ {
			first := y
			for column(y) {
				y++
			}
			switch start := x*s.Height + first; {
			case y == first:
				continue
			case start == end && len(m.Runs) > 0: // goes on from the foot of the column before
				m.Runs[len(m.Runs)-1] += uint32(y - first)
			default:
				m.Runs = append(m.Runs, uint32(start-end), uint32(y-first))
			}
			end = x*s.Height + y
		}
	}
	if rest := s.Width*s.Height - end; rest > 0 {
		m.Runs = append(m.Runs, uint32(rest))
	}
	return m
}

// Box is x0, y0, x1, y1 around the visible part, all zero where there is none.
func (s *TestScene) Box(frame, object int) (box [4]float64) {
	seen, x0, y0, x1, y1 := s.visible(frame, object)
	left, top, right, bottom := x1, y1, x0, y0
	for i, v := range seen {
		if v {
			x, y := x0+i%(x1-x0), y0+i/(x1-x0)
			left, top, right, bottom = min(left, x), min(top, y), max(right, x+1), max(bottom, y+1)
		}
	}
	if left >= right {
		return box
	}
	return [4]float64{float64(left), float64(top), float64(right), float64(bottom)}
}

// visible says, row by row for the rectangle an object may touch, where it is seen.
func (s *TestScene) visible(frame, object int) (seen []bool, x0, y0, x1, y1 int) {
	shapes, objects := s.shapes(frame)
	for i, o := range shapes {
		if objects[i] == object {
			x0, y0, x1, y1 = o.x0, o.y0, max(o.x0, o.x1), max(o.y0, o.y1)
			seen = make([]bool, (x1-x0)*(y1-y0))
		}
		for y := max(o.y0, y0); y < min(o.y1, y1); y++ {
			for x := max(o.x0, x0); x < min(o.x1, x1); x++ {
				if o.inside(float64(x)+0.5, float64(y)+0.5) > 0 {
					seen[(y-y0)*(x1-x0)+x-x0] = objects[i] == object
				}
			}
		}
	}
	return seen, x0, y0, x1, y1
}
