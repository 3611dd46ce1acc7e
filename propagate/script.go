package propagate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"maskstream/rle"
)

// Script is a session as data: what to do with a clip, under the reference's names (contract: session script).
type Script struct {
	VideoSize *[2]int       `json:"video_size"` // width, height of coordinates and masks; the source's where absent
	Options   ScriptOptions `json:"options"`
	Offload   Offload       `json:"offload"`
	Steps     []Op          `json:"steps"`
}

// ScriptOptions are the session's options; what is absent takes this product's defaults.
type ScriptOptions struct {
	FillHoleArea          int  `json:"fill_hole_area"`                    // 8
	NonOverlapMasks       bool `json:"non_overlap_masks"`                 // false
	CorrectAsConditioning bool `json:"add_all_frames_to_correct_as_cond"` // true
	ClearAroundInput      bool `json:"clear_non_cond_mem_around_input"`   // false
	MaxConditioning       int  `json:"max_cond_frames_in_attn"`           // −1
}

// DefaultScriptOptions are the product's defaults.
func DefaultScriptOptions() ScriptOptions {
	return ScriptOptions{FillHoleArea: 8, CorrectAsConditioning: true, MaxConditioning: -1}
}

// Offload says what lives on the host where the network is on a device.
type Offload struct {
	Video bool `json:"offload_video_to_cpu"`
	State bool `json:"offload_state_to_cpu"`
}

// Verb names an operation of a script.
type Verb string

const (
	AddPointsOrBox Verb = "add_points_or_box"
	AddMask        Verb = "add_mask"
	Propagate      Verb = "propagate"
	RemoveObject   Verb = "remove_object"
	ClearPrompts   Verb = "clear_prompts"
	ResetSession   Verb = "reset"
)

// Op is one step of a script. Which fields it needs and allows depends on its verb.
type Op struct {
	Verb           Verb         `json:"op"`
	Frame          *int         `json:"frame,omitempty"`
	Object         *int         `json:"object,omitempty"`
	Points         [][2]float32 `json:"points,omitempty"`
	Labels         []int        `json:"labels,omitempty"`
	Box            *[4]float32  `json:"box,omitempty"`
	ClearOldPoints *bool        `json:"clear_old_points,omitempty"` // true
	Mask           *rle.COCO    `json:"mask,omitempty"`
	StartFrame     *int         `json:"start_frame,omitempty"` // the earliest prompted frame
	MaxFrames      *int         `json:"max_frames,omitempty"`  // all
	Reverse        bool         `json:"reverse,omitempty"`
}

// ParseScript reads a script strictly: an unknown key, a missing or a needless field is an error that names the step.
func ParseScript(data []byte) (*Script, error) {
	s := Script{Options: DefaultScriptOptions()}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("session script: %w", locate(data, err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("session script: there is something after the closing brace; a script is one JSON object")
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("session script: %w", err)
	}
	return &s, nil
}

// locate adds line and column to a JSON error that knows its offset.
func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends in the middle; is the file cut off?")
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	}
	if offset < 0 || offset > int64(len(data)) {
		return err
	}
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

func (s *Script) validate() error {
	if v := s.VideoSize; v != nil && (v[0] < 1 || v[1] < 1 || v[0] > maxSide || v[1] > maxSide) {
		return fmt.Errorf("video_size %v: width and height must lie in 1…%d", *v, maxSide)
	}
	if s.Options.FillHoleArea < 0 {
		return fmt.Errorf("fill_hole_area %d: must be 0 (off) or more", s.Options.FillHoleArea)
	}
	if m := s.Options.MaxConditioning; m != -1 && m < 2 {
		return fmt.Errorf("max_cond_frames_in_attn %d: must be −1 (all) or at least 2", m)
	}
	if len(s.Steps) == 0 {
		return errors.New("steps: there are none, so nothing would be tracked")
	}
	for i, op := range s.Steps {
		if err := op.validate(); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, op.Verb, err)
		}
	}
	return nil
}

// maxSide bounds pictures and masks that a script may name.
const maxSide = 1 << 14

// fields says for each verb which fields it needs and which it may have.
var fields = map[Verb]struct{ needs, allows []string }{
	AddPointsOrBox: {[]string{"frame", "object"}, []string{"points", "labels", "box", "clear_old_points"}},
	AddMask:        {[]string{"frame", "object", "mask"}, nil},
	Propagate:      {nil, []string{"start_frame", "max_frames", "reverse"}},
	RemoveObject:   {[]string{"object"}, nil},
	ClearPrompts:   {[]string{"frame", "object"}, nil},
	ResetSession:   {nil, nil},
}

func (op Op) validate() error {
	rule, ok := fields[op.Verb]
	if !ok {
		return fmt.Errorf("unknown op %q; known are add_points_or_box, add_mask, propagate, remove_object, clear_prompts, reset", op.Verb)
	}
	present := op.present()
	for _, name := range rule.needs {
		if !present[name] {
			return fmt.Errorf("%q is missing", name)
		}
		delete(present, name)
	}
	for _, name := range rule.allows {
		delete(present, name)
	}
	for name := range present {
		if present[name] {
			return fmt.Errorf("%q does not belong to it", name)
		}
	}
	for name, v := range map[string]*int{"frame": op.Frame, "object": op.Object, "start_frame": op.StartFrame, "max_frames": op.MaxFrames} {
		if v != nil && (*v < 0 || *v > MaxObjectID) {
			return fmt.Errorf("%s %d: must lie in 0…%d", name, *v, MaxObjectID)
		}
	}
	return nil
}

// MaxObjectID is the largest object id: ids are chosen by the client or the next free one.
const MaxObjectID = 1<<31 - 1

func (op Op) present() map[string]bool {
	return map[string]bool{"frame": op.Frame != nil, "object": op.Object != nil, "points": op.Points != nil, "labels": op.Labels != nil,
		"box": op.Box != nil, "clear_old_points": op.ClearOldPoints != nil, "mask": op.Mask != nil,
		"start_frame": op.StartFrame != nil, "max_frames": op.MaxFrames != nil, "reverse": op.Reverse}
}
