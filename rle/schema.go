package rle

import (
	"embed"
	"fmt"
)

//go:embed schema/*.json
var schemas embed.FS

// Schema returns the JSON Schema (2020-12) of a message: "frame", "batch", "removed", "event" or "status".
func Schema(message string) ([]byte, error) {
	schema, err := schemas.ReadFile("schema/" + message + ".json")
	if err != nil {
		return nil, fmt.Errorf("schema of %q: there are batch, event, frame, removed and status: %w", message, err)
	}
	return schema, nil
}
