package configs

import (
	"bytes"
	_ "embed"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"maskstream/internal/userfile"
)

// maxBytes is room for hundreds of streams; the parser would take minutes over more.
const maxBytes = 256 << 10

var (
	//go:embed default.yaml
	defaultYAML []byte
	//go:embed demo.yaml
	demoYAML []byte
)

// Load reads a configuration file over the defaults, then the TRACKER_… variables of env (the form of os.Environ), and
// validates the whole. An error is one line that begins with the place: file:line:column, or the variable.
func Load(path string, env []string) (*Config, error) {
	text, err := userfile.Read(path, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return parse(path, text, env)
}

// Demo is what the service runs without a file, under the same variables.
func Demo(env []string) (*Config, error) { return parse("demo.yaml", demoYAML, env) }

// Template is default.yaml: every key with its default and a comment.
func Template() []byte { return append([]byte(nil), defaultYAML...) }

func parse(name string, text []byte, env []string) (*Config, error) {
	config := Default()
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // some editors put a mark there
	d := decoder{file: name, expand: newExpander(env), origins: map[string]string{}, anchors: map[string]ast.Node{}}
	if err := d.document(text, reflect.ValueOf(config).Elem(), ""); err != nil {
		return nil, err
	}
	if err := environ(env, config, d.origins); err != nil {
		return nil, err
	}
	for i := range config.Streams {
		config.Streams[i].takeAuto()
	}
	if err := (validator{file: name, origins: d.origins}).config(config); err != nil {
		return nil, err
	}
	return config, nil
}

// takeAuto moves "auto: true" from the list of prompts, where it may stand as well, to the stream.
func (s *Stream) takeAuto() {
	if len(s.Prompts) == 1 && s.Prompts[0].Auto && s.Prompts[0].empty() {
		s.Auto, s.Prompts = true, nil
	}
}

// Redacted is the effective configuration as YAML that Load reads, without its secrets.
func (c *Config) Redacted() string {
	text, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true))
	if err != nil {
		panic("configs: a Config always marshals: " + err.Error())
	}
	return strings.ReplaceAll(string(text), "${", "$${") // what stands in a value by now is meant as it is
}
