package userfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesAreReadWholeOrRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ten")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(path, 10); err != nil || string(data) != "0123456789" {
		t.Errorf("%q, %v", data, err)
	}
	for _, c := range []string{path, "/dev/zero"} {
		if data, err := Read(c, 9); err == nil || !strings.Contains(err.Error(), c+": it has more than 9 bytes") {
			t.Errorf("%s: %d bytes, %v", c, len(data), err)
		}
	}
	if _, err := Read(filepath.Dir(path), 9); err == nil {
		t.Error("a folder was read")
	}
}

func TestYAMLThatWouldExhaustItsParserIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"lists":          strings.Repeat("[", 100_000),
		"mappings":       "a: 1\nb: " + strings.Repeat("{a: ", 50_000),
		"dashes":         strings.Repeat("- ", 50_000),
		"question marks": strings.Repeat("? ", 50_000),
		"anchors":        strings.Repeat("&a ", 30_000),
		"tags":           strings.Repeat("!a ", 30_000),
	} {
		if line, column, err := CheckYAML([]byte(text)); err == nil || line == 0 || column == 0 {
			t.Errorf("%s: %d:%d: %v", name, line, column, err)
		}
	}
	points := "prompts: [{points: [" + strings.Repeat("[1, 2], ", 10_000) + "]}]\n" + strings.Repeat("- - a\n", 1000)
	if line, column, err := CheckYAML([]byte(points)); err != nil {
		t.Errorf("%d:%d: %v", line, column, err)
	}
}
