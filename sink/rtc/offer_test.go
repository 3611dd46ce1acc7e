package rtc

import (
	"errors"
	"strings"
	"testing"

	"maskstream/frames"
)

// sdpOf is an offer with the lines of its video section.
func sdpOf(formats string, lines ...string) string {
	return "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF " + formats + "\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n" + strings.Join(lines, "\r\n") + "\r\n"
}

func TestOfferIsAnsweredWithWhatItPlays(t *testing.T) {
	h264 := func(number, profile string) []string {
		return []string{"a=rtpmap:" + number + " H264/90000", "a=fmtp:" + number + " level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=" + profile}
	}
	join := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	vp8 := []string{"a=rtpmap:96 VP8/90000"}
	single := []string{"a=rtpmap:97 H264/90000", "a=fmtp:97 packetization-mode=0;profile-level-id=42e01f"}
	constrained, baseline, main, high, high10 := profile{66, 0xc0}, profile{66, 0}, profile{77, 0}, profile{100, 0}, profile{110, 0}
	for name, c := range map[string]struct {
		offer  string
		number int // of the answer; 0: none
		codec  frames.Codec
		plays  []profile
		not    []profile
	}{
		"Chromium":          {sdpOf("96 102 104 106 108", join(vp8, h264("102", "42001f"), h264("104", "42e01f"), h264("106", "4d001f"), h264("108", "64001f"))...), 102, frames.H264, []profile{constrained, baseline, main, high}, []profile{high10}},
		"constrained alone": {sdpOf("104", h264("104", "42e01f")...), 104, frames.H264, []profile{constrained}, []profile{baseline, main, high}},
		"high alone":        {sdpOf("108", h264("108", "640c1f")...), 108, frames.H264, []profile{constrained, main, high}, []profile{baseline, high10}},
		"VP8 alone":         {sdpOf("96", vp8...), 96, frames.VP8, nil, []profile{constrained}},
		"VP8 before H.264":  {sdpOf("96 104", join(vp8, h264("104", "42e01f"))...), 104, frames.H264, []profile{constrained}, nil},
		"packets of one":    {sdpOf("97 96", join(single, vp8)...), 96, frames.VP8, nil, []profile{constrained}},
		"neither":           {sdpOf("98", "a=rtpmap:98 AV1/90000"), 0, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := readOffer(c.offer)
			if c.number == 0 {
				if !errors.Is(err, ErrNoCodec) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if int(o.chosen.PayloadType) != c.number || o.codec != c.codec {
				t.Errorf("chosen is %d, %v", o.chosen.PayloadType, o.codec)
			}
			for _, p := range c.plays {
				if !o.plays(p) {
					t.Errorf("does not play %v", p)
				}
			}
			for _, p := range c.not {
				if o.plays(p) {
					t.Errorf("plays %v", p)
				}
			}
		})
	}
	for name, text := range map[string]string{"empty": "", "text": "hello", "no media": "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"} {
		if _, err := readOffer(text); !errors.Is(err, ErrOffer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProfileStandsInTheParameterSet(t *testing.T) {
	unit := append([]byte{0, 0, 0, 1, 9, 16, 0, 0, 0, 1, 0x67, 100, 0, 31, 1, 2, 3, 0, 0, 0, 1, 0x68, 1}, make([]byte, 400)...)
	if p, ok := profileOf(unit); !ok || p != (profile{100, 0}) {
		t.Errorf("profile %v, %v", p, ok)
	}
	for _, b := range [][]byte{nil, {0, 0, 1}, {0, 0, 1, 0x67}, {0, 0, 0, 1, 0x65, 1, 2, 3, 4, 5}} {
		if p, ok := profileOf(b); ok {
			t.Errorf("% x has profile %v", b, p)
		}
	}
}

func FuzzOffer(f *testing.F) {
	f.Add(sdpOf("96", "a=rtpmap:96 VP8/90000"))
	f.Add(sdpOf("104", "a=rtpmap:104 H264/90000", "a=fmtp:104 packetization-mode=1;profile-level-id=42e01f"))
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := readOffer(text); err == nil && o.chosen.MimeType == "" {
			t.Error("an answer without a codec")
		}
	})
}
