package rtc

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"

	"maskstream/frames"
)

// offer is what a client can play.
type offer struct {
	codec    frames.Codec // that pictures are coded in for it
	chosen   webrtc.RTPCodecParameters
	profiles []profile // of H.264, all that it plays
	channel  bool      // it takes data channels
}

// profile is the first two bytes of H.264's profile-level-id: profile_idc and the constraint flags. They are those of a sequence
// parameter set as well.
type profile struct{ idc, flags byte }

// baselineFlag in the flags of profile 66 makes it the constrained baseline profile, which every decoder has.
const baselineFlag = 0x40

// plays says whether a decoder of profile p plays a stream of profile s: each of these profiles contains those before it.
func (p profile) plays(s profile) bool {
	constrained := s.idc == 66 && s.flags&baselineFlag != 0
	switch p.idc {
	case 66:
		return constrained || s.idc == 66 && p.flags&baselineFlag == 0
	case 77:
		return constrained || s.idc == 77
	case 100:
		return constrained || s.idc == 77 || s.idc == 100
	}
	return false
}

// profileOf reads the profile of an access unit that begins with its parameter sets; ok is false where it does not.
func profileOf(unit []byte) (p profile, ok bool) {
	at := strings.Index(string(unit[:min(len(unit), 256)]), "\x00\x00\x01")
	for at >= 0 && at+6 < len(unit) {
		if unit[at+3]&0x1f == 7 {
			return profile{unit[at+4], unit[at+5]}, true
		}
		next := strings.Index(string(unit[at+3:min(len(unit), at+256)]), "\x00\x00\x01")
		if next < 0 {
			return profile{}, false
		}
		at += 3 + next
	}
	return profile{}, false
}

// readOffer chooses the codec: H.264, in the simplest profile there is, or else VP8.
func readOffer(text string) (*offer, error) {
	var d sdp.SessionDescription
	if err := d.UnmarshalString(text); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrOffer, err)
	}
	o := &offer{}
	var video *sdp.MediaDescription
	for _, m := range d.MediaDescriptions {
		switch {
		case m.MediaName.Media == "video" && video == nil && m.MediaName.Port.Value != 0:
			video = m
		case m.MediaName.Media == "application":
			o.channel = true
		}
	}
	if video == nil {
		return nil, fmt.Errorf("%w: it has no video section", ErrOffer)
	}
	found := -1 // rank of what is chosen: the smaller, the better
	for _, c := range codecsOf(video) {
		switch {
		case strings.EqualFold(c.MimeType, webrtc.MimeTypeH264) && strings.Contains(c.SDPFmtpLine, "packetization-mode=1"):
			p := fmtpProfile(c.SDPFmtpLine)
			o.profiles = append(o.profiles, p)
			rank := map[byte]int{66: 0, 77: 1, 100: 2}[p.idc]
			if p.plays(profile{66, baselineFlag}) && (found < 0 || rank < found) {
				found, o.codec, o.chosen = rank, frames.H264, c
			}
		case strings.EqualFold(c.MimeType, webrtc.MimeTypeVP8) && found < 0:
			found, o.codec, o.chosen = 10, frames.VP8, c
		}
	}
	if found < 0 {
		return nil, ErrNoCodec
	}
	return o, nil
}

// codecsOf are the codecs of a media section in the client's order.
func codecsOf(m *sdp.MediaDescription) (all []webrtc.RTPCodecParameters) {
	names, lines := map[string]string{}, map[string]string{}
	for _, a := range m.Attributes {
		number, rest, _ := strings.Cut(a.Value, " ")
		switch a.Key {
		case "rtpmap":
			names[number] = rest
		case "fmtp":
			lines[number] = rest
		}
	}
	for _, number := range m.MediaName.Formats {
		n, err := strconv.ParseUint(number, 10, 7)
		name, _, _ := strings.Cut(names[number], "/")
		if err != nil || name == "" {
			continue
		}
		all = append(all, webrtc.RTPCodecParameters{
			PayloadType: webrtc.PayloadType(n),
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: "video/" + name, ClockRate: 90000, SDPFmtpLine: lines[number],
				RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}}},
		})
	}
	return all
}

// fmtpProfile is the profile in a format's parameters; without one it is baseline (RFC 6184, 8.1).
func fmtpProfile(line string) profile {
	for part := range strings.SplitSeq(line, ";") {
		if id, ok := strings.CutPrefix(strings.TrimSpace(part), "profile-level-id="); ok && len(id) == 6 {
			if n, err := strconv.ParseUint(id[:4], 16, 16); err == nil {
				return profile{byte(n >> 8), byte(n)}
			}
		}
	}
	return profile{66, 0}
}

// plays says whether the client plays H.264 of a profile.
func (o *offer) plays(s profile) bool {
	for _, p := range o.profiles {
		if p.plays(s) {
			return o.codec == frames.H264
		}
	}
	return false
}
