package tensor

// TB is the part of testing.TB that NoLeaks needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// NoLeaks fails the test where a pool still has live tensors. Call it at the end of a test or in its Cleanup.
func NoLeaks(tb TB, pools ...*Pool) {
	tb.Helper()
	for _, p := range pools {
		if s := p.Stats(); s.Live != 0 || s.LiveBytes != 0 {
			tb.Errorf("pool %q leaks %d tensors, %d bytes", p.name, s.Live, s.LiveBytes)
		}
	}
}
