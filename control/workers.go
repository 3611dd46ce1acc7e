package control

import "sync"

// workers are the goroutines that answer requests. Requests may still come in while their door closes, since NATS ends subscriptions in
// its own time: from then on none begins.
type workers struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// start runs work on a goroutine of its own; false says that none begins any more.
func (w *workers) start(work func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.running.Go(work)
	return true
}

// end waits for those that run.
func (w *workers) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.running.Wait()
}
