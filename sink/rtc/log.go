package rtc

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// loggers gives pion's parts their loggers. What they call a warning or an error is one viewer's network, mostly, and is told as
// debugging.
type loggers struct{ log *slog.Logger }

// NewLogger implements logging.LoggerFactory.
func (l loggers) NewLogger(scope string) logging.LeveledLogger {
	return logger{l.log.With("part", "webrtc/"+scope)}
}

type logger struct{ log *slog.Logger }

func (l logger) debug(message string) { l.log.Debug(message) }

func (l logger) debugf(format string, arguments ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug(fmt.Sprintf(format, arguments...))
	}
}

func (l logger) Trace(string)                        {}
func (l logger) Tracef(string, ...any)               {}
func (l logger) Debug(string)                        {}
func (l logger) Debugf(string, ...any)               {}
func (l logger) Info(m string)                       { l.debug(m) }
func (l logger) Infof(format string, values ...any)  { l.debugf(format, values...) }
func (l logger) Warn(m string)                       { l.debug(m) }
func (l logger) Warnf(format string, values ...any)  { l.debugf(format, values...) }
func (l logger) Error(m string)                      { l.debug(m) }
func (l logger) Errorf(format string, values ...any) { l.debugf(format, values...) }
