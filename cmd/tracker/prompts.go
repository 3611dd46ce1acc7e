package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/propagate"
)

// promptFlags are the short forms of a session script, each [OBJECT@FRAME:]VALUE.
type promptFlags struct {
	points, boxes, masks []string
	reverse              bool
}

// place is what stands before the value of a short form.
type place struct{ object, frame int }

var placed = regexp.MustCompile(`^(\d+)@(\d+):(.*)$`)

// script turns the flags into a script: the prompts frame by frame, one forward pass from the first prompted frame, and with
// reverse a reverse pass from it after that.
func (f promptFlags) script() (*propagate.Script, error) {
	clicks := map[place]*propagate.Op{}
	var order []place
	click := func(p place) *propagate.Op {
		if clicks[p] == nil {
			clicks[p] = &propagate.Op{Verb: propagate.AddPointsOrBox, Frame: &p.frame, Object: &p.object}
			order = append(order, p)
		}
		return clicks[p]
	}
	for _, arg := range f.points {
		p, value, err := splitPlace("point", arg)
		if err != nil {
			return nil, err
		}
		point, label, err := parsePoint(arg, value)
		if err != nil {
			return nil, err
		}
		op := click(p)
		op.Points, op.Labels = append(op.Points, point), append(op.Labels, label)
	}
	for _, arg := range f.boxes {
		p, value, err := splitPlace("box", arg)
		if err != nil {
			return nil, err
		}
		box, err := parseBox(arg, value)
		if err != nil {
			return nil, err
		}
		op := click(p)
		if op.Box != nil {
			return nil, usagef("--box %q: object %d has another box on frame %d already; give it another object id, as in 2@%d:%s", arg, p.object, p.frame, p.frame, value)
		}
		op.Box = box
	}
	var steps []propagate.Op
	for _, p := range order {
		steps = append(steps, *clicks[p])
	}
	for _, arg := range f.masks {
		p, value, err := splitPlace("mask", arg)
		if err != nil {
			return nil, err
		}
		if clicks[p] != nil {
			return nil, usagef("--mask %q: object %d has points or a box on frame %d already; a mask excludes them", arg, p.object, p.frame)
		}
		mask, err := readMaskPicture(value)
		if err != nil {
			return nil, usagef("--mask %q: %w", arg, err)
		}
		coco := mask.COCO()
		steps = append(steps, propagate.Op{Verb: propagate.AddMask, Frame: &p.frame, Object: &p.object, Mask: &coco})
	}
	if len(steps) == 0 {
		return nil, usagef("nothing to track: point at an object with --point X,Y, --box X0,Y0,X1,Y1 or --mask FILE.png, take everything with --auto, or give --script FILE.json")
	}
	slices.SortStableFunc(steps, func(a, b propagate.Op) int { return *a.Frame - *b.Frame })
	return f.passes(steps), nil
}

// passes are the prompts and what follows them: one forward pass from the first prompted frame, and with reverse a reverse pass
// from it. Without prompts, which then are still to come, it is the first frame.
func (f promptFlags) passes(prompts []propagate.Op) *propagate.Script {
	first := 0
	if len(prompts) > 0 {
		first = *prompts[0].Frame
	}
	steps := append(prompts, propagate.Op{Verb: propagate.Propagate, StartFrame: &first})
	if f.reverse {
		steps = append(steps, propagate.Op{Verb: propagate.Propagate, StartFrame: &first, Reverse: true})
	}
	return &propagate.Script{Options: propagate.DefaultScriptOptions(), Steps: steps}
}

// within refuses short forms that point beside the picture, where the network would find something all the same, and masks of
// another size. Only the first picture's size is known before the others are read: fits looks at prompts on these.
func (f promptFlags) within(script *propagate.Script, input ingest.Info) error {
	if input.Width == 0 {
		return nil
	}
	for _, op := range script.Steps {
		if *cmp.Or(op.Frame, new(int)) > 0 {
			continue
		}
		if err := f.sized(op, input.Width, input.Height); err != nil {
			return err
		}
	}
	return nil
}

// fits is within for a prompt on the picture that it was for, whose size may have changed.
func (f promptFlags) fits(op propagate.Op, p *frames.Picture) error {
	width, height := p.DisplaySize()
	return f.sized(op, width, height)
}

func (f promptFlags) sized(op propagate.Op, width, height int) error {
	switch {
	case op.Verb == propagate.AddPointsOrBox && len(f.points)+len(f.boxes) > 0:
		return inPicture(op.Points, op.Box, width, height)
	case op.Verb == propagate.AddMask && len(f.masks) > 0 && op.Mask.Size != [2]int{height, width}:
		return usagef("--mask for object %d on frame %d: the mask is %d×%d and the picture %d×%d; it needs one pixel for each of the picture's",
			*op.Object, *op.Frame, op.Mask.Size[1], op.Mask.Size[0], width, height)
	}
	return nil
}

func splitPlace(flag, arg string) (place, string, error) {
	m := placed.FindStringSubmatch(arg)
	if m == nil && flag != "mask" && strings.ContainsAny(arg, "@:") { // which a file's name may hold
		return place{}, "", usagef("--%s %q: the object and the frame before the value are two numbers, as in 2@30:", flag, arg)
	}
	if m == nil {
		return place{object: 1}, arg, nil
	}
	object, err := strconv.Atoi(m[1])
	if err != nil || object > propagate.MaxObjectID {
		return place{}, "", usagef("--%s %q: object ids lie in 0…%d", flag, arg, propagate.MaxObjectID)
	}
	frame, err := strconv.Atoi(m[2])
	if err != nil {
		return place{}, "", usagef("--%s %q: frame %s is too large", flag, arg, m[2])
	}
	return place{object, frame}, m[3], nil
}

// parsePoint reads X,Y or X,Y,LABEL.
func parsePoint(arg, value string) (point [2]float32, label int, err error) {
	v, err := numbers(value, 2, 3)
	if err != nil {
		return point, 0, usagef("--point %q: %w; write X,Y or X,Y,0 for a point beside the object", arg, err)
	}
	label = 1
	if len(v) == 3 {
		label = int(v[2])
		if v[2] != 0 && v[2] != 1 {
			return point, 0, usagef("--point %q: the third number is 1 (on the object) or 0 (beside it)", arg)
		}
	}
	return [2]float32{v[0], v[1]}, label, nil
}

// parseBox reads X0,Y0,X1,Y1.
func parseBox(arg, value string) (*[4]float32, error) {
	v, err := numbers(value, 4, 4)
	if err != nil {
		return nil, usagef("--box %q: %w; write X0,Y0,X1,Y1", arg, err)
	}
	if v[0] >= v[2] || v[1] >= v[3] {
		return nil, usagef("--box %q: it is empty; X0,Y0 is the top left corner and X1,Y1 the bottom right one", arg)
	}
	return (*[4]float32)(v), nil
}

// inPicture refuses points outside a picture, and boxes that do not touch it: they are slips, and would be tracked all the same.
func inPicture(points [][2]float32, box *[4]float32, width, height int) error {
	w, h := float32(width), float32(height)
	for _, p := range points {
		if p[0] < 0 || p[0] > w || p[1] < 0 || p[1] > h {
			return usagef("--point %g,%g: it is outside the picture, which is %d×%d", p[0], p[1], width, height)
		}
	}
	if b := box; b != nil && (b[2] <= 0 || b[0] >= w || b[3] <= 0 || b[1] >= h) {
		return usagef("--box %g,%g,%g,%g: it is outside the picture, which is %d×%d", b[0], b[1], b[2], b[3], width, height)
	}
	return nil
}

func numbers(value string, least, most int) ([]float32, error) {
	parts := strings.Split(value, ",")
	switch {
	case len(parts) < least:
		return nil, fmt.Errorf("too few numbers (%d)", len(parts))
	case len(parts) > most:
		return nil, fmt.Errorf("too many numbers (%d)", len(parts))
	}
	v := make([]float32, len(parts))
	for i, part := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(part), 32)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		v[i] = float32(f)
	}
	return v, nil
}
