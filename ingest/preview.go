package ingest

import (
	"fmt"

	"maskstream/frames"
)

// H.264 profiles whose pictures browsers decode; Baseline and Constrained Baseline share their number.
const (
	profileBaseline = 66
	profileMain     = 77
	profileHigh     = 100
)

// constrained is a flag that FFmpeg sets in a profile's number.
const constrained = 1 << 9

// Preview says whether the live preview can show the source as it is coded, and if not, why it codes the pictures again.
func (i Info) Preview() (passed bool, reason string) {
	switch profile := i.Profile &^ constrained; {
	case i.Codec == "rawvideo":
		return false, "the source sends plain pictures"
	case i.Codec != "h264":
		return false, fmt.Sprintf("the source is %s, not H.264", i.Codec)
	case i.BFrames:
		return false, "the source has B-frames, which browsers show late and out of step"
	case i.PixelFormat != "yuv420p" && i.PixelFormat != "yuvj420p":
		return false, fmt.Sprintf("the source is %s, and browsers decode 8 bits of 4:2:0", i.PixelFormat)
	case profile != profileBaseline && profile != profileMain && profile != profileHigh:
		return false, fmt.Sprintf("the source has H.264's profile %d, which browsers do not decode", profile)
	case i.Rotation != frames.Rotate0:
		return false, "the source has to be turned upright"
	}
	return true, ""
}
