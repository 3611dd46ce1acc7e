package control

import (
	"sync"
	"time"
)

// lane does requests one after the other, on a goroutine that lives while there are any.
type lane struct {
	most    int // that wait or are under way
	workers *workers

	mu      sync.Mutex
	waiting []func() error
	open    int // these and the one under way
	done    laneStats
}

// laneStats is what became of a lane's requests.
type laneStats struct {
	Answered int64   `json:"answered"`
	Failed   int64   `json:"failed"` // answered with an error
	Busy     int64   `json:"busy"`   // refused, since too many waited
	Seconds  float64 `json:"seconds"`
}

// add lets a request wait for its turn; false says that too many do, or that the door is closed.
func (l *lane) add(request func() error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		l.done.Busy++
		return false
	}
	if l.open == 0 && !l.workers.start(l.work) {
		return false
	}
	l.waiting = append(l.waiting, request)
	l.open++
	return true
}

// work ends in the moment in which nothing is open, so that the next request begins it anew.
func (l *lane) work() {
	for ended := false; !ended; {
		l.mu.Lock()
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
		l.open--
		ended = l.open == 0
		l.mu.Unlock()
	}
}

func (l *lane) stats() laneStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}
