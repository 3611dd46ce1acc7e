// Package userfile reads the files that people write and hand over (configurations, scripts, secrets) without trusting them: a
// device that never ends, or a text made to exhaust its parser, is an error and not the end of the machine.
package userfile

import (
	"fmt"
	"io"
	"os"
)

// Read returns a file's bytes where there are at most limit. Pipes will do, as in -c <(envsubst <tracker.yaml).
func Read(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: it has more than %d bytes: is it the right file?", path, limit)
	}
	return data, nil
}
