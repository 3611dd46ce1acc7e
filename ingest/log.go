package ingest

// #include <stdint.h>
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// ffmpegLog is where FFmpeg's messages go. FFmpeg has one log callback for the whole process, which is why this is the one
// variable of the package.
var ffmpegLog = logRouter{secrets: map[string]int{}, seen: map[uintptr]*repeated{}}

// logRouter forwards FFmpeg's messages to slog as Debug, because what fails is also returned as an error or counted; only what
// FFmpeg calls fatal is a warning. Every message text passes at most once in quietPeriod, and says how often it was held back.
type logRouter struct {
	install sync.Once

	mu      sync.Mutex
	logger  *slog.Logger   // nil is slog.Default
	secrets map[string]int // what must not be shown, by how many readers
	seen    map[uintptr]*repeated
}

// repeated counts one message text, known by its format string, of which FFmpeg has a finite number.
type repeated struct {
	last time.Time
	held int
}

const quietPeriod = 5 * time.Second

// LogTo sends FFmpeg's messages of the whole process to logger; without it they go to slog.Default. What they need to be
// asked for depends on the logger's level at this moment.
func LogTo(logger *slog.Logger) {
	ffmpegLog.mu.Lock()
	ffmpegLog.logger = logger
	ffmpegLog.mu.Unlock()
	ffmpegLog.start()
	highest := int(ffmpegFatal)
	if logger.Enabled(context.Background(), slog.LevelDebug) {
		highest = ffmpegWarning
	}
	setLogLevel(highest)
}

// start takes FFmpeg's log over, before anything of FFmpeg is called.
func (r *logRouter) start() { r.install.Do(installLog) }

func (r *logRouter) hide(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		r.secrets[s]++
	}
}

func (r *logRouter) unhide(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if r.secrets[s]--; r.secrets[s] <= 0 {
			delete(r.secrets, s)
		}
	}
}

//export maskstreamFFmpegLog
func maskstreamFFmpegLog(level C.int, id C.uintptr_t, line *C.char) {
	ffmpegLog.forward(int(level), uintptr(id), C.GoString(line), time.Now())
}

func (r *logRouter) forward(level int, id uintptr, line string, now time.Time) {
	r.mu.Lock()
	entry := r.seen[id]
	if entry == nil {
		entry = &repeated{}
		r.seen[id] = entry
	}
	if now.Sub(entry.last) < quietPeriod {
		entry.held++
		r.mu.Unlock()
		return
	}
	held := entry.held
	*entry = repeated{last: now}
	secrets := make([]string, 0, len(r.secrets))
	for s := range r.secrets {
		secrets = append(secrets, s)
	}
	logger := r.logger
	r.mu.Unlock()

	line = strings.TrimSpace(scrub(line, secrets))
	if line == "" {
		return
	}
	if logger == nil {
		logger = slog.Default()
	}
	to := slog.LevelDebug
	if level <= ffmpegFatal {
		to = slog.LevelWarn
	}
	attributes := []any{"from", "ffmpeg"}
	if held > 0 {
		attributes = append(attributes, "held_back", held)
	}
	logger.Log(context.Background(), to, line, attributes...)
}
