package propagate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// MaxObjectID is the largest object id: ids are chosen by the client or the next free one.
const MaxObjectID = 1<<31 - 1

// Validate says what is wrong with a script, and in which step. ParseScript has asked already.
func (s *Script) Validate() error {
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
		if err := op.validate(op.fields()); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, op.Verb, err)
		}
	}
	return nil
}

// LooksBack says whether a step may want what a pass has left behind: another pass, one in reverse, or a step on a frame.
func (s *Script) LooksBack() bool {
	passed := false
	for _, op := range s.Steps {
		if op.Reverse || passed && (op.Verb == Propagate || op.Frame != nil) {
			return true
		}
		passed = passed || op.Verb == Propagate
	}
	return false
}

// takes says which fields a verb needs and which it may have besides.
func (v Verb) takes() (needs, allows []string, ok bool) {
	switch v {
	case AddPointsOrBox:
		return []string{"frame", "object"}, []string{"points", "labels", "box", "clear_old_points"}, true
	case AddMask:
		return []string{"frame", "object", "mask"}, nil, true
	case Propagate:
		return nil, []string{"start_frame", "max_frames", "reverse"}, true
	case RemoveObject:
		return []string{"object"}, nil, true
	case ClearPrompts:
		return []string{"frame", "object"}, nil, true
	case ResetSession:
		return nil, nil, true
	}
	return nil, nil, false
}

// validate holds a step, of which the named fields are present, to the rules of its verb.
func (op Op) validate(present []string) error {
	needs, allows, ok := op.Verb.takes()
	if !ok {
		return errors.New("unknown op; known are add_points_or_box, add_mask, propagate, remove_object, clear_prompts, reset")
	}
	for _, name := range needs {
		if !slices.Contains(present, name) {
			return fmt.Errorf("%q is missing", name)
		}
	}
	takes := slices.Concat(needs, allows)
	for _, name := range present {
		switch {
		case slices.Contains(takes, name):
		case len(takes) == 0:
			return fmt.Errorf("%q does not belong to it; it takes nothing", name)
		default:
			return fmt.Errorf("%q does not belong to it; it takes %s", name, strings.Join(takes, ", "))
		}
	}
	for _, number := range []struct {
		name  string
		value *int
	}{{"frame", op.Frame}, {"object", op.Object}, {"start_frame", op.StartFrame}, {"max_frames", op.MaxFrames}} {
		if v := number.value; v != nil && (*v < 0 || *v > MaxObjectID) {
			return fmt.Errorf("%s %d: must lie in 0…%d", number.name, *v, MaxObjectID)
		}
	}
	if op.Verb == AddPointsOrBox || op.Verb == AddMask {
		_, err := op.prompt(1, 1)
		return err
	}
	return nil
}

// prompt is what the step says of a picture of width×height.
func (op Op) prompt(width, height int) (Prompt, error) {
	p := Prompt{Points: op.Points, Labels: op.Labels, Box: op.Box, KeepOldPoints: op.ClearOldPoints != nil && !*op.ClearOldPoints, Width: width, Height: height}
	if op.Mask != nil {
		mask, err := rle.ParseCOCO(*op.Mask)
		if err != nil {
			return Prompt{}, fmt.Errorf("%w: mask: %w", ErrPrompt, err)
		}
		p.Mask = &mask
	}
	return p, p.validate()
}

// fields lists the fields that are set.
func (op Op) fields() []string {
	var present []string
	for _, field := range []struct {
		name string
		set  bool
	}{{"frame", op.Frame != nil}, {"object", op.Object != nil}, {"points", op.Points != nil}, {"labels", op.Labels != nil},
		{"box", op.Box != nil}, {"clear_old_points", op.ClearOldPoints != nil}, {"mask", op.Mask != nil},
		{"start_frame", op.StartFrame != nil}, {"max_frames", op.MaxFrames != nil}, {"reverse", op.Reverse}} {
		if field.set {
			present = append(present, field.name)
		}
	}
	return present
}
