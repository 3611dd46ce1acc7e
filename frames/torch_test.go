package frames

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"

	"maskstream/tensor"
)

// The files are torch's own results, written by testdata/torch_resize.py.
func TestFramesEqualTorchs(t *testing.T) {
	for _, c := range []struct{ w, h, s int }{{97, 61, 32}, {21, 17, 32}, {70, 20, 32}, {853, 479, 16}} {
		pool := tensor.NewPool("test", tensor.Host(), 0)
		p := &Picture{Width: c.w, Height: c.h, Format: RGB24, Strides: [3]int{3 * c.w}}
		for y := range c.h {
			for x := range c.w {
				for channel := range 3 {
					p.Planes[0] = append(p.Planes[0], byte(x*7+y*13+channel*50+x*y%97*(x/5%2)))
				}
			}
		}
		p.Own(nil)
		f, err := NewConverter(c.s, pool).Convert(p)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(fmt.Sprintf("testdata/torch_%dx%d_%d.f32", c.w, c.h, c.s))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, v := range f.Pixels.Float32s() {
			want := math.Float32frombits(binary.LittleEndian.Uint32(golden[4*i:]))
			worst = max(worst, math.Abs(float64(v)-float64(want)))
		}
		if !(worst <= 1e-5) {
			t.Errorf("%d×%d to %d: off by %g from torch, want at most 1e-5", c.w, c.h, c.s, worst)
		}
		t.Logf("%d×%d to %d: off by %.2g", c.w, c.h, c.s, worst)
		f.Release()
		p.Release()
		tensor.NoLeaks(t, pool)
	}
}
