package sam2

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"maskstream/model/checkpoint"
)

func TestAModelIsLoadedByNameOrFile(t *testing.T) {
	copied := t.TempDir() + "/copy.pt" // the built-in weights from a file are recognised, whatever their name
	weights, err := os.ReadFile("../nano/sam2.1_hiera_nano.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, config, name string
		imageSize           int
	}{
		{"nano", "", "nano", 256},
		{copied, "", "nano", 256},
		{"nano", "../nano/sam2.1_hiera_nano.yaml", "sam2.1_hiera_nano", 256},
		{random64 + "model.pt", random64 + "model.yaml", "model", 256},
	} {
		weights, config, err := Load(c.model, c.config)
		if err != nil {
			t.Error(err)
			continue
		}
		if config.Name != c.name || config.ImageSize != c.imageSize || len(weights.Names()) == 0 {
			t.Errorf("%s: %+v", c.model, config)
		}
		if err := weights.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAModelThatCannotBeLoadedSaysWhatToDo(t *testing.T) {
	folder := t.TempDir()
	page := folder + "/page.pt"
	if err := os.WriteFile(page, []byte("<html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, config string
		is            error
		says          string
	}{
		{"none.pt", "", fs.ErrNotExist, `"nano" for the built-in model`},
		{"sam2.1_hiera_tiny", "", fs.ErrNotExist, "download sam2.1_hiera_tiny.pt"},
		{folder, "", checkpoint.ErrFormat, "folder"},
		{page, "", checkpoint.ErrFormat, "web page"},
		{random64 + "model.pt", "", ErrUnknownModel, "--model-config"},
		{"nano", random64 + "model.yaml", ErrConfig, "in the weights embed_dim is 32, not 16"},
		{"nano", "none.yaml", fs.ErrNotExist, "none.yaml"},
		{"nano", folder, ErrConfig, "folder"},
	} {
		_, _, err := Load(c.model, c.config)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v", c.model, c.config, err)
		}
	}
}

func TestAnInspectedModelIsDescribed(t *testing.T) {
	weights, config, err := Load(random64+"model.pt", random64+"model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	s := Inspect(weights, &config)
	text := s.String()
	for _, says := range []string{"pytorch", "383 (383 F32)", "1.73 million", "256×256", "stages 1-2-4-2", "width 32 of 64"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	fields, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(fields), `"parameters":1725234`) || strings.Contains(string(fields), "problem") {
		t.Errorf("%s, %v", fields, err)
	}
	other := config
	other.Trunk.EmbedDim++
	if s := Inspect(weights, &other); s.Network != nil || s.Model != "" || !strings.Contains(s.Problem, "embed_dim is ") {
		t.Errorf("under another model's configuration: %+v", s)
	}
	unknown := Inspect(weights, nil)
	if unknown.Model != "" || unknown.Network != nil || !strings.Contains(unknown.String(), "not recognised: ") || strings.Count(unknown.Problem, "model.pt") != 1 {
		t.Errorf("%s", unknown)
	}
}
