package userfile

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxNesting is how deep a YAML text may go, and how many levels one line may open.
const maxNesting = 64

// PlainYAML makes of the YAML package's message one for people.
func PlainYAML(message string) string {
	if strings.Contains(message, "'\t'") {
		return "a tab, where YAML wants spaces"
	}
	return message
}

// CheckYAML refuses a text that nests deeper than anybody writes: the parser's memory grows with the square of the depth, and
// 200 kB of brackets take more than a machine has. The error's place is returned beside it.
func CheckYAML(text []byte) (line, column int, err error) {
	brackets, opened := 0, 0 // in all, and by dashes and the like on this line
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Position == nil {
			continue
		}
		if t.Position.Line != line {
			line, opened = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(0, brackets-1)
		case token.SequenceEntryType, token.MappingKeyType:
			opened++
		case token.AnchorType, token.TagType:
			if brackets == 0 {
				opened++
			}
		}
		if brackets+opened > maxNesting {
			return line, t.Position.Column, fmt.Errorf("more than %d levels deep", maxNesting)
		}
	}
	return 0, 0, nil
}
