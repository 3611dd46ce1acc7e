package rle

import "time"

// COCO is a mask as pycocotools reads it: size is [height, width], counts the compressed string.
type COCO struct {
	Size   [2]int `json:"size"`
	Counts string `json:"counts"`
}

// Direction says which pass a result comes from.
type Direction string

const (
	Prompted Direction = "prompt" // the answer to a prompt
	Forward  Direction = "forward"
	Reverse  Direction = "reverse"
)

// State says how an object is doing.
type State string

const (
	Tracked  State = "tracked"
	Occluded State = "occluded" // an empty mask: the object keeps its id and its place
	Lost     State = "lost"     // occluded for longer than lost_after; messages go on
)

// Frame is a frame of results: one JSON line, one message on the frame subject, one data-channel message.
type Frame struct {
	V         int        `json:"v"` // 1
	Stream    string     `json:"stream"`
	Run       string     `json:"run"` // 8 hex digits, new for every process
	Epoch     int        `json:"epoch"`
	Seq       int64      `json:"seq"` // grows by one per message of a stream
	Frame     int        `json:"frame"`
	Step      *int       `json:"step,omitempty"` // only from tracker track
	PTS       int64      `json:"pts_ns"`
	Captured  *time.Time `json:"captured"` // the camera's own clock, else null
	Received  time.Time  `json:"received"`
	RTP       uint32     `json:"rtp"`
	Size      [2]int     `json:"size"` // height, width as displayed
	Direction Direction  `json:"direction"`
	Past      bool       `json:"past,omitempty"` // about a frame that had gone by: only the objects that were looked at again
	Part      *[2]int    `json:"part,omitempty"` // i of n, where a message was split by objects
	Objects   []Object   `json:"objects"`
	Omitted   []int      `json:"omitted,omitempty"` // ids whose mask was too large for any message here: see [EncodeFrame]
}

// Object is one object's result in a frame of results.
type Object struct {
	ID           int      `json:"id"`
	State        State    `json:"state"`
	Segmentation COCO     `json:"segmentation"`
	Area         int64    `json:"area"`
	BBox         [4]int   `json:"bbox"` // x, y, width, height, as pycocotools.mask.toBbox
	ObjectScore  *float32 `json:"object_score"`
	PredictedIoU *float32 `json:"predicted_iou"`
}

// Batch is one object's masks over some frames: the message on <prefix>.<stream>.object.<id>.
type Batch struct {
	V      int         `json:"v"` // 1
	Stream string      `json:"stream"`
	Run    string      `json:"run"`
	Epoch  int         `json:"epoch"`
	Object int         `json:"object"`
	Size   [2]int      `json:"size"`
	Masks  []BatchMask `json:"masks"`
	Part   *[2]int     `json:"part,omitempty"` // i of n, where one mask was too large: masks[0] then has counts_part
}

// BatchMask is one frame of a batch. Counts and CountsPart exclude each other: the parts of one mask concatenate to its counts.
type BatchMask struct {
	Seq         int64     `json:"seq"`
	Frame       int       `json:"frame"`
	PTS         int64     `json:"pts_ns"`
	Direction   Direction `json:"direction"`
	State       State     `json:"state"`
	Counts      *string   `json:"counts,omitempty"`
	CountsPart  *string   `json:"counts_part,omitempty"`
	Area        int64     `json:"area"`
	BBox        [4]int    `json:"bbox"`
	ObjectScore *float32  `json:"object_score"`
}

// Removed is the line that remove_object writes in a session.
type Removed struct {
	V         int   `json:"v"` // 1
	Step      int   `json:"step"`
	Removed   int   `json:"removed"`
	Remaining []int `json:"remaining"`
}

// EventType says what happened to a stream or an object of it.
type EventType string

const (
	StreamUp      EventType = "stream_up"
	StreamDown    EventType = "stream_down" // reason: why
	EpochBegan    EventType = "epoch"       // epoch: the new one; reason: why
	ObjectAdded   EventType = "object_added"
	ObjectLost    EventType = "object_lost"
	ObjectFound   EventType = "object_found"
	ObjectRemoved EventType = "object_removed"
	ReverseDone   EventType = "reverse_done" // frames: how many; reason: why it ended early
	SearchDone    EventType = "search_done"  // found: how many objects that were not tracked yet; reason: why it failed
)

// Event is the message on <prefix>.<stream>.event.
type Event struct {
	V      int       `json:"v"` // 1
	Stream string    `json:"stream"`
	Run    string    `json:"run"`
	N      int64     `json:"n"` // counts the run's events
	Time   time.Time `json:"time"`
	Type   EventType `json:"type"`
	Object *int      `json:"object,omitempty"` // of the object_… events
	Epoch  *int      `json:"epoch,omitempty"`
	Frames *int      `json:"frames,omitempty"` // of reverse_done: results of the pass
	Found  *int      `json:"found,omitempty"`  // of search_done: objects that are tracked from now on
	Code   string    `json:"code,omitempty"`   // of stream_down: what is wrong, in a word: "auth_failed", "timeout", …
	Reason string    `json:"reason,omitempty"` // of stream_down and epoch: why; of reverse_done: why the pass ended early; of search_done: why there is none
}

// Status is the message on <prefix>.<stream>.status, once a second.
type Status struct {
	V         int              `json:"v"` // 1
	Stream    string           `json:"stream"`
	Run       string           `json:"run"`
	Time      time.Time        `json:"time"`
	State     string           `json:"state"`          // of the stream, as the list of streams has it
	Code      string           `json:"code,omitempty"` // why it is down, in a word, as in events
	FPS       float64          `json:"fps"`            // frames of results a second
	LatencyMS float64          `json:"latency_ms"`
	Objects   []int            `json:"objects"`
	Frames    int64            `json:"frames"`  // frames of results so far
	Dropped   map[string]int64 `json:"dropped"` // by what dropped them, since the start
}
