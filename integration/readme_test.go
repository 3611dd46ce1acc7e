package integration

import (
	"os"
	"strings"
	"testing"
)

func TestREADMEShowsTheScriptThatIsTested(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../examples/python/masks.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```python\n"+string(script)+"```\n") {
		t.Error("README.md does not have the text of examples/python/masks.py as its Python example: copy it there")
	}
}
