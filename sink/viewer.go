package sink

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	boundary    = "maskstream-picture"
	viewerStall = 10 * time.Second // a viewer that takes longer for one picture is gone
)

// errFull says that the stream has as many viewers as it may have.
var errFull = errors.New("this preview has its most viewers: close another one")

// ServeHTTP shows the pictures until the viewer goes or the stream ends.
func (m *MJPEG) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := m.join(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer m.leave()
	w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary="+boundary)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Connection", "close") // its deadlines are ours, and not for a next request
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	if _, err := fmt.Fprintf(w, "--%s\r\n", boundary); err != nil {
		return
	}
	if err := control.Flush(); err != nil {
		return
	}
	var last int64
	for {
		version, changed, closed := m.state()
		if closed {
			return
		}
		if version == last {
			select {
			case <-r.Context().Done():
				return
			case <-changed:
			}
			continue
		}
		picture := m.picture()
		last = picture.version
		if picture.jpeg == nil {
			continue
		}
		if err := send(w, control, picture); err != nil {
			return
		}
	}
}

// send writes one part and the boundary behind it: browsers show a picture only when they have seen where it ends.
func send(w http.ResponseWriter, control *http.ResponseController, picture encodedPicture) error {
	if err := control.SetWriteDeadline(time.Now().Add(viewerStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := fmt.Fprintf(w, "Content-Type: image/jpeg\r\nContent-Length: %d\r\nX-Seq: %d\r\n\r\n", len(picture.jpeg), picture.seq); err != nil {
		return err
	}
	if _, err := w.Write(picture.jpeg); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\r\n--%s\r\n", boundary); err != nil {
		return err
	}
	return control.Flush()
}

func (m *MJPEG) join() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.viewers >= m.options.MaxViewers {
		return errFull
	}
	m.viewers++
	return nil
}

func (m *MJPEG) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.viewers--
}
