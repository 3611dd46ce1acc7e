package control

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A late one, while the door waits for none to run, would also be a misuse of its WaitGroup.
func TestNoRequestBeginsOnceItsDoorIsClosed(t *testing.T) {
	for range 200 {
		w := &workers{}
		l := &lane{most: maxWaiting, workers: w}
		var ended atomic.Bool
		var late atomic.Int32
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 8 {
					l.add(func() error {
						if ended.Load() {
							late.Add(1)
						}
						return nil
					})
				}
			})
		}
		w.end()
		ended.Store(true)
		callers.Wait()
		if n := late.Load(); n > 0 {
			t.Fatalf("%d requests were done after the end", n)
		}
		if l.add(func() error { t.Error("it was done"); return nil }) {
			t.Fatal("a request was taken after the end")
		}
	}
}
