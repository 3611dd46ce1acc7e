package rtc

import (
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"

	"maskstream/frames"
)

// packetBytes is the most payload of one RTP packet: what is left of common networks' 1280 bytes after all headers.
const packetBytes = 1180

// picture is one coded picture on its way to the viewers, who share it.
type picture struct {
	rtp      uint32
	came     time.Time // when it was decoded
	key      bool
	passed   bool // as the source coded it
	profile  profile
	payloads [][]byte // of RTP packets
}

// packetizer cuts pictures of one coding into packets. It belongs to one goroutine.
type packetizer struct {
	h264    codecs.H264Payloader
	vp8     codecs.VP8Payloader
	profile profile // of H.264, from the last key picture
}

func newPacketizer() *packetizer {
	return &packetizer{vp8: codecs.VP8Payloader{EnablePictureID: true}}
}

func (k *packetizer) picture(c *frames.Coded, stamp uint32, came time.Time, passed bool) *picture {
	var payloader rtp.Payloader = &k.h264
	if c.Codec == frames.VP8 {
		payloader = &k.vp8
	} else if p, ok := profileOf(c.Data); ok && c.Key {
		k.profile = p
	}
	return &picture{rtp: stamp, came: came, key: c.Key, passed: passed, profile: k.profile, payloads: payloader.Payload(packetBytes, c.Data)}
}
