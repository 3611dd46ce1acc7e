package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"maskstream/configs"
	"maskstream/rle"
)

const (
	// BodyLimit is the most bytes a request may have.
	BodyLimit  = 1 << 20
	maxPoints  = 1000
	maxObjects = 10_000
	maxObject  = math.MaxInt32
)

// UnmarshalJSON takes "latest" or a number from 0.
func (f *FrameRef) UnmarshalJSON(text []byte) error {
	if string(text) == `"latest"` {
		*f = Latest
		return nil
	}
	var n int
	if err := json.Unmarshal(text, &n); err != nil || n < 0 || n > math.MaxInt32 {
		return Errorf(BadRequest, `frame: %.40s is neither "latest" nor a number from 0`, text)
	}
	*f = FrameRef(n)
	return nil
}

// checkLength bounds what a request may cost.
func checkLength(body []byte) error {
	if len(body) > BodyLimit {
		return Errorf(TooLarge, "the body has %d bytes: at most %d", len(body), BodyLimit)
	}
	return nil
}

// decode reads exactly one JSON object into v.
func decode(body []byte, v any) error {
	if err := checkLength(body); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return Errorf(BadRequest, "the body has to be a JSON object")
	}
	if err := decoder.Decode(v); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return e
		}
		return Errorf(BadRequest, "the body is not what the verb takes: %s", wrong(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Errorf(BadRequest, "something follows the JSON object in the body")
	}
	return nil
}

// wrong says what is wrong with JSON without the words of Go: its types are no concern of whoever wrote it.
func wrong(err error) string {
	forms := map[string]string{
		"object": "a whole number", "objects": "[1, 2]", "frames": "a whole number", "epoch": "a whole number",
		"points": "[[x, y]]", "labels": "[1]", "box": "[x0, y0, x1, y1]", "clear_old_points": "true or false",
		"mask": `{"size": [height, width], "counts": "…"}`, "mask.size": "[height, width]", "mask.counts": "a text",
	}
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) || forms[e.Field] == "" {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return fmt.Sprintf("%s: it takes %s, found %s", e.Field, forms[e.Field], e.Value)
}

// decodeNothing takes an empty body or an empty object.
func decodeNothing(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	return decode(body, &struct{}{})
}

func checkObject(object *int) (int, error) {
	if object == nil {
		return 0, Errorf(BadRequest, "object: the id is missing")
	}
	if *object < 0 || *object > maxObject {
		return 0, Errorf(BadRequest, "object: ids go from 0 to %d", maxObject)
	}
	return *object, nil
}

func decodeObject(body []byte) (int, error) {
	var request struct {
		Object *int `json:"object"`
	}
	if err := decode(body, &request); err != nil {
		return 0, err
	}
	return checkObject(request.Object)
}

func decodeObjectFrame(body []byte) (int, FrameRef, error) {
	request := struct {
		Object *int     `json:"object"`
		Frame  FrameRef `json:"frame"`
	}{Frame: Latest}
	if err := decode(body, &request); err != nil {
		return 0, 0, err
	}
	object, err := checkObject(request.Object)
	return object, request.Frame, err
}

// decodeReverse takes an empty body as well.
func decodeReverse(body []byte) (ReverseRequest, error) {
	var wire struct {
		Objects []int `json:"objects"`
		Frames  *int  `json:"frames"`
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := decode(body, &wire); err != nil {
			return ReverseRequest{}, err
		}
	}
	request := ReverseRequest{Objects: wire.Objects}
	switch {
	case wire.Objects != nil && len(wire.Objects) == 0:
		return ReverseRequest{}, Errorf(BadRequest, "objects: the list is empty; leave it out for all objects")
	case len(wire.Objects) > maxObjects:
		return ReverseRequest{}, Errorf(BadRequest, "objects: %d, at most %d", len(wire.Objects), maxObjects)
	case wire.Frames != nil && *wire.Frames < 1:
		return ReverseRequest{}, Errorf(BadRequest, "frames: %d; how many to go back, from 1, or leave it out for all that are kept", *wire.Frames)
	case wire.Frames != nil:
		request.Frames = *wire.Frames
	}
	for i := range wire.Objects {
		if _, err := checkObject(&wire.Objects[i]); err != nil {
			return ReverseRequest{}, err
		}
	}
	return request, nil
}

// decodeDiscover returns the options as they are, empty where there are none: whoever finds objects knows them.
func decodeDiscover(body []byte) ([]byte, error) {
	var wire struct {
		Options json.RawMessage `json:"options"`
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := decode(body, &wire); err != nil {
			return nil, err
		}
	}
	if len(wire.Options) > 0 && wire.Options[0] != '{' {
		return nil, Errorf(BadRequest, "options: %.40s is not a JSON object", wire.Options)
	}
	return wire.Options, nil
}

// decodeStream validates a stream that is to be added under a name.
func decodeStream(name string, body []byte) (configs.Stream, error) {
	if err := decode(body, &map[string]json.RawMessage{}); err != nil {
		return configs.Stream{}, err
	}
	stream, err := configs.ParseStream(name, body)
	if err != nil {
		return configs.Stream{}, Errorf(BadRequest, "%v", err)
	}
	return stream, nil
}

// decodePrompt validates a prompt for a picture of size [height, width].
func decodePrompt(body []byte, size [2]int) (PromptRequest, error) {
	// Slices and not arrays: encoding/json fills and cuts arrays without a word.
	wire := struct {
		Object         *int        `json:"object"`
		Frame          FrameRef    `json:"frame"`
		Epoch          *int        `json:"epoch"`
		Points         [][]float64 `json:"points"`
		Labels         []int       `json:"labels"`
		Box            []float64   `json:"box"`
		Mask           *rle.COCO   `json:"mask"`
		ClearOldPoints bool        `json:"clear_old_points"`
	}{Frame: Latest, ClearOldPoints: true}
	if err := decode(body, &wire); err != nil {
		return PromptRequest{}, err
	}
	request := PromptRequest{Object: wire.Object, Frame: wire.Frame, Epoch: wire.Epoch, Labels: wire.Labels, ClearOldPoints: wire.ClearOldPoints}
	if wire.Epoch != nil && *wire.Epoch < 0 {
		return PromptRequest{}, Errorf(BadRequest, "epoch: %d; they count from 0", *wire.Epoch)
	}
	if wire.Object != nil {
		if _, err := checkObject(wire.Object); err != nil {
			return PromptRequest{}, err
		}
	}
	h, w := float64(size[0]), float64(size[1])
	switch {
	case size[0] <= 0 || size[1] <= 0:
		return PromptRequest{}, Errorf(Unavailable, "the stream has no picture yet: try again when it is up")
	case len(wire.Points) == 0 && len(wire.Box) == 0 && wire.Mask == nil:
		return PromptRequest{}, Errorf(BadRequest, "the prompt says nothing: give points with labels, a box, or a mask")
	case wire.Mask != nil && (len(wire.Points) > 0 || len(wire.Box) > 0):
		return PromptRequest{}, Errorf(BadRequest, "mask: excludes points and box")
	case len(wire.Points) != len(wire.Labels):
		return PromptRequest{}, Errorf(BadRequest, "labels: %d for %d points; give one each", len(wire.Labels), len(wire.Points))
	case len(wire.Points) > maxPoints:
		return PromptRequest{}, Errorf(BadRequest, "points: %d, at most %d", len(wire.Points), maxPoints)
	}
	for i, p := range wire.Points {
		if len(p) != 2 || !(p[0] >= 0 && p[0] <= w && p[1] >= 0 && p[1] <= h) {
			return PromptRequest{}, Errorf(BadRequest, "points[%d]: %v is not [x, y] within the picture of %d×%d", i, p, size[1], size[0])
		}
		if label := wire.Labels[i]; label != 0 && label != 1 {
			return PromptRequest{}, Errorf(BadRequest, "labels[%d]: %d; 1 is on the object, 0 beside it", i, label)
		}
		request.Points = append(request.Points, [2]float64(p))
	}
	if len(wire.Box) > 0 {
		if len(wire.Box) != 4 {
			return PromptRequest{}, Errorf(BadRequest, "box: %d values; give x0, y0, x1, y1", len(wire.Box))
		}
		box := [4]float64(wire.Box)
		if !(box[0] < box[2] && box[1] < box[3]) {
			return PromptRequest{}, Errorf(BadRequest, "box: %v has no inside; the first corner is left of and above the second", box)
		}
		if box[0] < -w || box[1] < -h || box[2] > 2*w || box[3] > 2*h || box[2] <= 0 || box[3] <= 0 || box[0] >= w || box[1] >= h {
			return PromptRequest{}, Errorf(BadRequest, "box: %v lies outside of the picture of %d×%d", box, size[1], size[0])
		}
		request.Box = &box
	}
	if wire.Mask != nil {
		if wire.Mask.Size != size {
			return PromptRequest{}, Errorf(BadRequest, "mask: size %v, the picture's is %v ([height, width])", wire.Mask.Size, size)
		}
		mask, err := rle.ParseCOCO(*wire.Mask)
		if err != nil {
			return PromptRequest{}, Errorf(BadRequest, "mask: %v", err)
		}
		request.Mask = &mask
	}
	return request, nil
}
