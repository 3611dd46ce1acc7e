package propagate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ParseScript reads a script strictly: an unknown key, a missing or a needless field, and an array of another length are errors,
// and where a step is wrong the error names it.
func ParseScript(data []byte) (*Script, error) {
	s, err := parseScript(data)
	if err != nil {
		return nil, fmt.Errorf("session script: %w", err)
	}
	return s, nil
}

func parseScript(data []byte) (*Script, error) {
	whole := struct {
		VideoSize json.RawMessage   `json:"video_size"`
		Options   ScriptOptions     `json:"options"`
		Offload   Offload           `json:"offload"`
		Steps     []json.RawMessage `json:"steps"`
	}{Options: DefaultScriptOptions()}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&whole); err != nil {
		return nil, locate(data, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the closing brace; a script is one JSON object")
	}
	s := &Script{Options: whole.Options, Offload: whole.Offload}
	if whole.VideoSize != nil {
		if err := errors.Join(sized("video_size", whole.VideoSize, 2), plain(json.Unmarshal(whole.VideoSize, &s.VideoSize))); err != nil {
			return nil, err
		}
	}
	for i, raw := range whole.Steps {
		op, err := parseOp(raw)
		if err != nil {
			return nil, fmt.Errorf("step %d (%s): %w", i, op.Verb, err)
		}
		s.Steps = append(s.Steps, op)
	}
	return s, s.Validate()
}

// parseOp reads one step; where it fails, the verb is set if it was readable.
func parseOp(raw json.RawMessage) (Op, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Op{}, errors.New("a step is an object with an op")
	}
	var op Op
	if verb, ok := fields["op"]; !ok {
		return op, errors.New(`"op" is missing`)
	} else if err := json.Unmarshal(verb, &op.Verb); err != nil {
		return op, errors.New(`"op" is no string`)
	}
	delete(fields, "op")
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	if err := plain(json.Unmarshal(raw, &op)); err != nil {
		return op, err
	}
	if err := errors.Join(sized("box", fields["box"], 4), sizedEach("points", fields["points"], 2)); err != nil {
		return op, err
	}
	if mask := fields["mask"]; mask != nil {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(mask, &parts); err != nil {
			return op, fmt.Errorf("mask: %w", plain(err))
		}
		if err := sized("mask.size", parts["size"], 2); err != nil {
			return op, err
		}
	}
	return op, op.validate(slices.Sorted(maps.Keys(fields)))
}

// sized refuses an array of another length, which encoding/json would cut or fill up with zeros.
func sized(name string, raw json.RawMessage, n int) error {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) == nil && elements != nil && len(elements) != n {
		return fmt.Errorf("%s: %d numbers where there must be %d", name, len(elements), n)
	}
	return nil
}

func sizedEach(name string, raw json.RawMessage, n int) error {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil // absent, or refused for its type already
	}
	for i, e := range elements {
		if err := sized(fmt.Sprintf("%s[%d]", name, i), e, n); err != nil {
			return err
		}
	}
	return nil
}

// plain says of a value of the wrong type what is wrong, without the names of Go's types.
func plain(err error) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return err
	}
	name := kind.Field[strings.LastIndexByte(kind.Field, '.')+1:]
	if name == "" {
		return fmt.Errorf("%s does not fit here", article(kind.Value))
	}
	return fmt.Errorf("%q: %s does not fit here", name, article(kind.Value))
}

// article is the name of a JSON type with its article.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
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
	if offset < 1 || offset > int64(len(data)) {
		return err
	}
	before := data[:offset-1] // the offset is behind the culprit
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') // from 1
	return fmt.Errorf("line %d, column %d: %w", line, column, plain(err))
}
