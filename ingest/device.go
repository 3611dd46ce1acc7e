package ingest

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// deviceOptions are what may follow a device's name, as in /dev/video0?video_size=1280x720&framerate=30: names of FFmpeg's
// v4l2 input.
var deviceOptions = []string{"framerate", "input_format", "pixel_format", "video_size"}

// deviceTarget understands /dev/videoN and the options behind it; ok is false where the address is none.
func deviceTarget(address string) (t *target, ok bool, err error) {
	path, query, _ := strings.Cut(address, "?")
	if !strings.HasPrefix(path, "/dev/video") || address != path && exists(address) {
		return nil, false, nil
	}
	refuse := func(detail, hint string) (*target, bool, error) {
		return nil, true, &Error{Op: "opening", Source: address, Kind: ErrInvalid, Detail: detail, Hint: hint}
	}
	t = &target{kind: kindDevice, open: path, shown: address, live: true, options: [][2]string{{"timestamps", "abs"}}}
	values, err := url.ParseQuery(query)
	if err != nil {
		return refuse("its options", "write them as in "+path+"?video_size=1280x720&framerate=30")
	}
	for name, given := range values {
		if !slices.Contains(deviceOptions, name) {
			return refuse(fmt.Sprintf("the option %q", name), "it takes "+strings.Join(deviceOptions, ", "))
		}
		t.options = append(t.options, [2]string{name, given[len(given)-1]})
	}
	return t, true, nil
}

// missing is the error of a device that is not there, which may be plugged in yet; nil where it is.
func (t *target) missing() error {
	if t.kind != kindDevice || exists(t.open) {
		return nil
	}
	there, _ := filepath.Glob("/dev/video*") // the pattern is well formed
	if len(there) == 0 {
		return &Error{Op: "opening", Source: t.shown, Kind: ErrNotFound, Detail: "this machine has no /dev/video*", Hint: "plug the camera in, or give the container the device"}
	}
	return &Error{Op: "opening", Source: t.shown, Kind: ErrNotFound, Detail: "there is no such device", Hint: "there are " + strings.Join(there, ", ")}
}
