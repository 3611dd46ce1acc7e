package motion

import (
	"math"
	"math/rand/v2"
	"testing"
)

// matrix is dense linear algebra, enough to say the textbook's filter again.
type matrix [][]float64

func zeros(rows, columns int) matrix {
	m := make(matrix, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

func (m matrix) times(o matrix) matrix {
	p := zeros(len(m), len(o[0]))
	for i := range p {
		for j := range p[i] {
			for k := range o {
				p[i][j] += m[i][k] * o[k][j]
			}
		}
	}
	return p
}

func (m matrix) plus(o matrix, factor float64) matrix {
	p := zeros(len(m), len(m[0]))
	for i := range p {
		for j := range p[i] {
			p[i][j] = m[i][j] + factor*o[i][j]
		}
	}
	return p
}

func (m matrix) turned() matrix {
	p := zeros(len(m[0]), len(m))
	for i := range p {
		for j := range p[i] {
			p[i][j] = m[j][i]
		}
	}
	return p
}

// inverse is Gauss and Jordan's, of a matrix whose pivots do not vanish.
func (m matrix) inverse() matrix {
	n := len(m)
	a, inv := m.plus(m, 0), zeros(n, n)
	for i := range n {
		inv[i][i] = 1
	}
	for i := range n {
		pivot := a[i][i]
		for j := range n {
			a[i][j] /= pivot
			inv[i][j] /= pivot
		}
		for r := range n {
			if factor := a[r][i]; r != i {
				for j := range n {
					a[r][j] -= factor * a[i][j]
					inv[r][j] -= factor * inv[i][j]
				}
			}
		}
	}
	return inv
}

func diagonal(deviations ...float64) matrix {
	m := zeros(len(deviations), len(deviations))
	for i, d := range deviations {
		m[i][i] = d * d
	}
	return m
}

// textbook is the filter over the whole state (x, y, aspect, height and their speeds) with its full 8×8 covariance, as SAMURAI's
// kalman_filter.py has it.
type textbook struct{ mean, covariance matrix }

func textbookStart(x, y, a, h float64) *textbook {
	return &textbook{matrix{{x}, {y}, {a}, {h}, {0}, {0}, {0}, {0}}, diagonal(h/10, h/10, 1e-2, h/10, h/16, h/16, 1e-5, h/16)}
}

func (k *textbook) predict(frames float64) {
	h := k.mean[3][0]
	transition := diagonal(1, 1, 1, 1, 1, 1, 1, 1)
	for i := range 4 {
		transition[i][4+i] = frames
	}
	k.mean = transition.times(k.mean)
	k.covariance = transition.times(k.covariance).times(transition.turned()).plus(diagonal(h/20, h/20, 1e-2, h/20, h/160, h/160, 1e-5, h/160), 1)
}

func (k *textbook) update(x, y, a, h float64) {
	was := k.mean[3][0]
	see := zeros(4, 8)
	for i := range 4 {
		see[i][i] = 1
	}
	innovation := see.times(k.covariance).times(see.turned()).plus(diagonal(was/20, was/20, 1e-1, was/20), 1)
	gain := k.covariance.times(see.turned()).times(innovation.inverse())
	k.mean = k.mean.plus(gain.times(matrix{{x}, {y}, {a}, {h}}.plus(see.times(k.mean), -1)), 1)
	k.covariance = k.covariance.plus(gain.times(innovation).times(gain.turned()), -1)
}

func (k *textbook) compare(t *testing.T, at int, f filter) {
	t.Helper()
	for i, b := range f {
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"place", b.place, k.mean[i][0]}, {"speed", b.speed, k.mean[4+i][0]},
			{"variance of the place", b.placeVariance, k.covariance[i][i]}, {"shared variance", b.shared, k.covariance[i][4+i]},
			{"variance of the speed", b.speedVariance, k.covariance[4+i][4+i]},
		} {
			if d := math.Abs(c.got - c.want); !(d <= 1e-9*(1+math.Abs(c.want))) {
				t.Fatalf("step %d, part %d: %s %v, the textbook's %v", at, i, c.name, c.got, c.want)
			}
		}
	}
}

func TestFilterEqualsTheFullMatrixFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		box := func(at float64) Box {
			cx, cy, w, h := 20+at+random.NormFloat64(), 30-0.5*at+random.NormFloat64(), 8+random.Float64(), 12+random.Float64()
			return Box{cx - w/2, cy - h/2, cx + w/2, cy + h/2}
		}
		measure := func(b Box) (float64, float64, float64, float64) {
			return (b.X0 + b.X1) / 2, (b.Y0 + b.Y1) / 2, (b.X1 - b.X0) / (b.Y1 - b.Y0), b.Y1 - b.Y0
		}
		first := box(0)
		f, k := start(first), textbookStart(measure(first))
		k.compare(t, 0, f)
		at, direction := 0.0, 1.0
		for i := 1; i <= 60; i++ {
			if random.IntN(12) == 0 {
				direction = -direction
			}
			at += direction
			f.predict(direction)
			k.predict(direction)
			k.compare(t, i, f)
			if random.IntN(4) == 0 {
				continue // not seen
			}
			seen := box(at)
			f.update(seen)
			k.update(measure(seen))
			k.compare(t, i, f)
		}
	}
}

// The numbers are NumPy's, for SAMURAI's filter (sam2/utils/kalman_filter.py) started at (10, 20, 0.5, 8) and shown (11, 19, 0.6, 8.5) a frame later.
func TestFilterHasTheNumbersOfNumPy(t *testing.T) {
	f := start(Box{8, 16, 12, 24})
	f.predict(1)
	b := Box{11 - 0.6*8.5/2, 19 - 8.5/2, 11 + 0.6*8.5/2, 19 + 8.5/2}
	f.update(b)
	for i, want := range [parts][2]float64{{10.867768595041323, 0.20661157024793386}, {19.132231404958677, -0.20661157024793386}, {0.5019607852748943, 9.80392147251057e-10}, {8.433884297520661, 0.10330578512396693}} {
		if math.Abs(f[i].place-want[0]) > 1e-12 || math.Abs(f[i].speed-want[1]) > 1e-12 {
			t.Errorf("part %d: place %v speed %v, want %v", i, f[i].place, f[i].speed, want)
		}
	}
}

func TestMotionBackIsMotionForwardTurnedRound(t *testing.T) {
	f := start(Box{0, 0, 10, 10})
	for at := 1.0; at <= 30; at++ {
		f.predict(1)
		f.update(Box{2 * at, at, 10 + 2*at, 10 + at})
	}
	there := f.box()
	f.predict(-1)
	back := f.box()
	if got := [2]float64{there.X0 - back.X0, there.Y0 - back.Y0}; math.Abs(got[0]-2) > 0.1 || math.Abs(got[1]-1) > 0.1 {
		t.Errorf("a frame back the box lies %v away, want 2, 1", got)
	}
}
