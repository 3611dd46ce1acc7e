package control

import (
	"sync"
	"time"
)

// lane does requests one after the other, on a goroutine that lives while there are any.
type lane struct {
	most    int // that wait
	workers *sync.WaitGroup

	mu      sync.Mutex
	waiting []func() error
	working bool
	done    laneStats
}

// laneStats is what became of a lane's requests.
type laneStats struct {
	Answered int64   `json:"answered"`
	Failed   int64   `json:"failed"` // answered with an error
	Busy     int64   `json:"busy"`   // refused, since too many waited
	Seconds  float64 `json:"seconds"`
}

// add lets a request wait for its turn; false says that too many do.
func (l *lane) add(request func() error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= l.most {
		l.done.Busy++
		return false
	}
	l.waiting = append(l.waiting, request)
	if !l.working {
		l.working = true
		l.workers.Go(l.work)
	}
	return true
}

func (l *lane) work() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.working = false
			l.mu.Unlock()
			return
		}
		request := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()

		began := time.Now()
		err := request()
		l.mu.Lock()
		l.done.Answered++
		l.done.Seconds += time.Since(began).Seconds()
		if err != nil {
			l.done.Failed++
		}
		l.mu.Unlock()
	}
}

func (l *lane) stats() laneStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}
