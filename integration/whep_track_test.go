package integration

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

// readTrack puts packets together to pictures.
func (c *whepClient) readTrack(track *webrtc.TrackRemote, deaf func() bool) {
	isH264 := strings.EqualFold(track.Codec().MimeType, webrtc.MimeTypeH264)
	var packets []*rtp.Packet
	for {
		for deaf() {
			time.Sleep(20 * time.Millisecond)
		}
		p, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		if len(packets) > 0 && packets[0].Timestamp != p.Timestamp {
			packets = nil // its end was lost
		}
		packets = append(packets, p)
		if !p.Marker {
			continue
		}
		s := viewed{rtp: p.Timestamp}
		if isH264 {
			s.nals, s.key = depacketize(packets)
		} else {
			for _, p := range packets {
				var vp8 codecs.VP8Packet
				payload, err := vp8.Unmarshal(p.Payload)
				if err != nil {
					c.t.Error(err)
				}
				if s.nals == nil {
					s.key = payload[0]&1 == 0
				}
				s.nals = append(s.nals, payload)
			}
		}
		packets = nil
		c.mu.Lock()
		c.arrived(s)
		c.mu.Unlock()
	}
}

// depacketize is the NAL units of one picture.
func depacketize(packets []*rtp.Packet) (nals [][]byte, key bool) {
	depacketizer := &codecs.H264Packet{IsAVC: true} // length-prefixed: start codes could be part of the data
	var all []byte
	for _, p := range packets {
		part, err := depacketizer.Unmarshal(p.Payload)
		if err != nil {
			continue // a picture that lacks a packet shows as a difference
		}
		all = append(all, part...)
	}
	for len(all) > 4 {
		n := binary.BigEndian.Uint32(all)
		nal := all[4:][:n]
		nals = append(nals, nal)
		key = key || nal[0]&0x1f == 5
		all = all[4+n:]
	}
	return nals, key
}
