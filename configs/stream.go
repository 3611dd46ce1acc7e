package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// ParseStream reads the stream of a name from JSON, as it comes over the network: with the keys, defaults and checks of a stream in a
// file, but it may not make this machine read its own files, devices or variables. So its url is one of the network or a test scene,
// ${…} is plain text, and keys that name secrets and certificates are refused. A model may be a file.
func ParseStream(name string, body []byte) (Stream, error) {
	if len(body) > maxBytes {
		return Stream{}, fmt.Errorf("the stream has %d bytes: at most %d", len(body), maxBytes)
	}
	text, err := flow(body)
	if err != nil {
		return Stream{}, err
	}
	s := DefaultStream()
	s.Name = name
	asIs := func(text string) (string, error) { return text, nil }
	d := decoder{file: request, expand: asIs, origins: map[string]string{}, anchors: map[string]ast.Node{}}
	if err := d.document(text, reflect.ValueOf(&s).Elem(), streamPath); err != nil {
		return Stream{}, err
	}
	s.takeAuto()
	if s.Name != name {
		return Stream{}, fmt.Errorf("name: %q, and the request is for %q: leave it out, or make them agree", s.Name, name)
	}
	v := validator{file: request}
	return s, firstError(
		func() error { return v.remote(&s) },
		func() error { return v.stream(streamPath, &s) },
	)
}

const (
	request    = "the request" // stands for the file in errors, which has no lines
	streamPath = "stream"      // stands for the stream in errors about one that stands alone
)

// remoteSchemes are the protocols of sources that come over the network.
var remoteSchemes = slices.DeleteFunc(slices.Clone(schemes), func(scheme string) bool { return scheme == "file" })

// remote refuses what only this machine's own configuration may name.
func (v validator) remote(s *Stream) error {
	name := strings.ToLower(strings.TrimSuffix(scheme.FindString(string(s.URL)), ":"))
	if local := name != "testscene" && !strings.Contains(string(s.URL), "://"); s.URL != "" && (local || !slices.Contains(remoteSchemes, name)) {
		return v.errorf(streamPath+".url", "a stream that is added by request reads no files, devices or pipes of this machine: use one of %s, or name it in the configuration", strings.Join(remoteSchemes, ", "))
	}
	const named = "it names a file of this machine, which only the configuration may"
	switch {
	case s.PasswordFile != "":
		return v.errorf(streamPath+".password_file", named)
	case s.TLS.CAFile != "":
		return v.errorf(streamPath+".tls.ca_file", named)
	case s.ModelConfig != "":
		return v.errorf(streamPath+".model_config", named)
	}
	return nil
}

// flow is JSON as YAML that reads the same: without tabs between values, and without escapes that YAML does not know.
func flow(body []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("the stream is no JSON object: %w", err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}
