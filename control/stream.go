package control

import (
	"context"
	"net/http"
	"time"

	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

// Stream is one stream as the service steers it. Its methods are called from any goroutine, once for each request; they wait
// for the stream's own goroutine until ctx ends. Errors that are an *Error reach the client as they are, others as "internal".
type Stream interface {
	// Prompt points at an object and returns its masks on that frame. The request is valid for the size in Status.
	Prompt(ctx context.Context, request PromptRequest) (*rle.Frame, error)
	// Clear takes an object's prompts on one frame back.
	Clear(ctx context.Context, object int, frame FrameRef) (*rle.Frame, error)
	// Remove forgets an object; its id is not used again.
	Remove(ctx context.Context, object int) error
	// Reset forgets all objects.
	Reset(ctx context.Context) error
	// Reverse begins a pass back over the frames that are kept and does not wait for it; a second is refused as busy.
	Reverse(ctx context.Context, request ReverseRequest) error
	// Discover starts to track what is on the newest frame and not tracked yet, and returns all masks. options is a JSON object of
	// automatic mask generation's options, or empty for the defaults.
	Discover(ctx context.Context, options []byte) (*rle.Frame, error)
	// Status is a snapshot; it does not wait.
	Status() StreamStatus
	// Preview shows the picture with masks drawn in; nil where there is none.
	Preview() http.Handler
}

// FrameRef is a decoded picture's number within its epoch, or Latest.
type FrameRef int

// Latest is the newest frame, whatever its number.
const Latest FrameRef = -1

// PromptRequest points at one object: points, a box, both, or a mask. Coordinates are pixels of the picture as displayed.
type PromptRequest struct {
	Object         *int // nil: the next free id
	Frame          FrameRef
	Epoch          *int         // that Frame belongs to; nil: the current one
	Points         [][2]float64 // x, y
	Labels         []int        // 1 on the object, 0 beside it; one a point
	Box            *[4]float64  // x0, y0, x1, y1; x0 < x1, y0 < y1
	Mask           *rle.Mask    // of the picture's size; excludes points and box
	ClearOldPoints bool         // of this object on this frame
}

// ReverseRequest says how far back to track which objects.
type ReverseRequest struct {
	Objects []int // nil: all
	Frames  int   // at most; 0: all that are kept
}

// StreamState says how a stream is doing.
type StreamState string

const (
	Starting StreamState = "starting"
	Up       StreamState = "up"
	Down     StreamState = "down" // the source is gone, and the stream tries to reach it; or nothing is tracked for want of memory
	Ended    StreamState = "ended"
)

// StreamStatus is one stream, as list and status tell it.
type StreamStatus struct {
	Name      string         `json:"name"`
	State     StreamState    `json:"state"`
	Code      string         `json:"code,omitempty"`  // why it is down, in a word: "auth_failed", "timeout", …
	Error     string         `json:"error,omitempty"` // the same in a sentence, without secrets
	Run       string         `json:"run"`
	Epoch     int            `json:"epoch"`
	Frame     int            `json:"frame"`
	Size      [2]int         `json:"size"` // height, width as displayed; zero before the first frame
	FPS       float64        `json:"fps"`
	LatencyMS float64        `json:"latency_ms"` // from receiving a frame to its masks, of late
	Dropped   int64          `json:"dropped"`    // frames that a live stream left out
	Viewers   int            `json:"viewers"`
	Objects   []ObjectStatus `json:"objects"`
	WebRTC    *WebRTCStatus  `json:"webrtc,omitempty"` // nil where there is no such preview

	Counters Counters `json:"-"` // for metrics
}

// WebRTCStatus is how a stream's pictures reach a browser.
type WebRTCStatus struct {
	Viewers int    `json:"viewers"`
	Mode    string `json:"mode"`             // locked or low-latency, where a viewer does not ask for the other
	Video   string `json:"video"`            // VideoPassed, VideoCoded, or empty before the source is known
	Reason  string `json:"reason,omitempty"` // why they are coded again

	Dropped  map[string]int64 `json:"-"` // what viewers did not get, by reason; for metrics
	Buffered int64            `json:"-"` // bytes
}

// What becomes of a stream's pictures.
const (
	VideoPassed = "passed through"
	VideoCoded  = "coded again"
)

// ObjectStatus is one object of a stream.
type ObjectStatus struct {
	ID    int       `json:"id"`
	State rle.State `json:"state"`
	Area  int64     `json:"area"`
	BBox  [4]int    `json:"bbox"`
	Color string    `json:"color"` // "#rrggbb" of its mask in the preview; filled in by the service
}

// Counters count since the start of the process.
type Counters struct {
	Decoded        int64
	Dropped        []DropCount
	DecodeErrors   int64
	Reconnects     map[string]int64 // times it was lost, by code
	Failures       map[string]int64 // tries that failed, by code
	TimestampJumps int64
	MaskBytes      int64 // of counts
	LastFrame      time.Time
	Latency        []StageLatency
	Sinks          []sink.Stats
	Past           PastCounters
	Pools          []PoolStats
}

// PastCounters is what a stream keeps of its past and did with it.
type PastCounters struct {
	Frames   int   // kept now
	Bytes    int64 // of them
	NotKept  int64 // frames that found no room
	CaughtUp int64 // results of objects that caught up after a prompt in the past
	Reversed int64 // results of reverse passes
}

// PoolStats is one pool of tensors. Which of them move says what offloading costs.
type PoolStats struct {
	Name string
	tensor.Stats
}

// DropCount counts frames that were left out at one place for one reason.
type DropCount struct {
	Stage, Reason string
	Count         int64
}

// StageLatency is how long one stage (decode, infer, encode, publish) takes.
type StageLatency struct {
	Stage     string
	Histogram *Histogram
}
