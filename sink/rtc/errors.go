package rtc

import "errors"

var (
	// ErrNoStream says that there is no such stream.
	ErrNoStream = errors.New("there is no such stream")
	// ErrNoSession says that the session has ended, or never was.
	ErrNoSession = errors.New("there is no such session: it may have ended")
	// ErrFull says that there are as many viewers as there may be.
	ErrFull = errors.New("the preview has its most viewers: close another one")
	// ErrOffer is wrapped by what is wrong with a client's session description.
	ErrOffer = errors.New("the offer cannot be answered")
	// ErrNoCodec says that the offer has no codec that this server sends.
	ErrNoCodec = errors.New("the offer has neither H.264 (packetization mode 1) nor VP8")
	// ErrRestart says that a session cannot be moved to other addresses.
	ErrRestart = errors.New("ICE restarts are not supported: open a new session")
	// ErrClosed says that the service is ending.
	ErrClosed = errors.New("the preview is ending")
)
