package ingest

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/rle"
)

func scene(t testing.TB, address string) *TestScene {
	t.Helper()
	s, err := ParseTestScene(address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func area(m rle.Mask) (n int) {
	for i := 1; i < len(m.Runs); i += 2 {
		n += int(m.Runs[i])
	}
	return n
}

func TestSceneDependsOnItsOptionsAndTheFrameAlone(t *testing.T) {
	a, b, other := scene(t, "testscene:"), scene(t, "testscene:?size=640x360&fps=25&seed=1"), scene(t, "testscene:?seed=2")
	x, y, z := make([]byte, 640*360*3), make([]byte, 640*360*3), make([]byte, 640*360*3)
	a.Render(100, x)
	b.Render(7, y)
	b.Render(100, y)
	other.Render(100, z)
	if !bytes.Equal(x, y) || bytes.Equal(x, z) {
		t.Error("the same frame differs, or another seed gives the same")
	}
	twice := scene(t, "testscene:?fps=50")
	if a.Box(50, 1) != twice.Box(100, 1) {
		t.Error("the frame rate changes the speed")
	}
}

func TestFirstObjectIsEasyToPointAt(t *testing.T) {
	for _, address := range []string{"testscene:", "testscene:?seed=2", "testscene:?seed=3&size=320x240", "testscene:?seed=4&size=1280x720"} {
		s := scene(t, address)
		box := s.Box(0, 1)
		side := min(box[2]-box[0], box[3]-box[1])
		if least := 0.16 * float64(s.Height); side < least*2 {
			t.Errorf("%s: box %v", address, box)
		}
		m := s.Mask(0, 1)
		if n, full := area(m), side*side*3.1416/4; float64(n) < 0.98*full {
			t.Errorf("%s: %d of %.0f pixels are seen on the first frame", address, n, full)
		}
		// Speed: the box moves a bit in every frame, never far.
		for f := 1; f < 100; f++ {
			next := s.Box(f, 1)
			d := max(next[0]-box[0], box[0]-next[0], next[1]-box[1], box[1]-next[1])
			if d > side/5 && area(s.Mask(f, 1)) > int(side*side/2) && area(s.Mask(f-1, 1)) > int(side*side/2) {
				t.Errorf("%s: from %v to %v in a frame", address, box, next)
			}
			box = next
		}
	}
}

func TestMasksAreWhatIsSeen(t *testing.T) {
	s := scene(t, "testscene:?size=320x180")
	rgb := make([]byte, 320*180*3)
	occluded := false
	first := area(s.Mask(0, 1))
	for f := 0; f < 300; f += 10 {
		s.Render(f, rgb)
		m := s.Mask(f, 1)
		total, orange, at := 0, 0, 0
		for i, n := range m.Runs {
			for range n {
				if i%2 == 1 {
					p := rgb[3*(at%180*320+at/180):]
					total++
					if int(p[0]) > int(p[2])+25 || p[0] > 240 { // the ball, or its highlight
						orange++
					}
				}
				at++
			}
		}
		if at != 320*180 {
			t.Fatalf("frame %d: runs add up to %d", f, at)
		}
		if total > 0 && float64(orange) < 0.97*float64(total) {
			t.Errorf("frame %d: %d of %d pixels have the ball's colour", f, orange, total)
		}
		occluded = occluded || total < first*8/10
	}
	if !occluded {
		t.Error("nothing ever passes in front of the ball")
	}
}

func TestSceneComesInRealTimeUnlessUnpaced(t *testing.T) {
	began := time.Now()
	if n := readAll(t, open(t, "testscene:?size=64x36&fps=50&frames=20"), nil); n != 20 {
		t.Errorf("%d pictures", n)
	}
	if took := time.Since(began); took < 370*time.Millisecond {
		t.Errorf("19 intervals of 20 ms took %v", took)
	}
	r := open(t, "testscene:?fps=0.01")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var err error
	for err == nil {
		var p *frames.Picture
		if p, err = r.Next(ctx); err == nil {
			p.Release()
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestSceneIsNotBlack(t *testing.T) {
	p, err := open(t, "testscene:?pace=0").Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	img := paint(t, p)
	colours := map[color.RGBA]bool{}
	for x := 0; x < 640; x += 5 {
		colours[img.RGBAAt(x, x*9/16)] = true
	}
	if len(colours) < 100 {
		t.Errorf("%d colours on the diagonal", len(colours))
	}
}

func BenchmarkRender(b *testing.B) {
	s := scene(b, "testscene:")
	rgb := make([]byte, 640*360*3)
	for f := 0; b.Loop(); f++ {
		s.Render(f, rgb)
	}
}
