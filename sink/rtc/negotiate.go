package rtc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

// protocol of the data channel, which the client reads in its description.
const protocol = "masks.v1+json"

// channelLife is how long a message on the channel is tried again: later ones are better.
const channelLife = uint16(150) // ms

// negotiate makes the connection and the whole answer: no address follows later.
func (v *viewer) negotiate(ctx context.Context, text string) (answer string, err error) {
	media := &webrtc.MediaEngine{}
	if err := media.RegisterCodec(v.offer.chosen, webrtc.RTPCodecTypeVideo); err != nil {
		return "", fmt.Errorf("%w: %v", ErrOffer, err)
	}
	chain := &interceptor.Registry{}
	if err := webrtc.RegisterDefaultInterceptors(media, chain); err != nil {
		return "", err
	}
	api := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(chain), webrtc.WithSettingEngine(v.server.settings))
	if err := v.connect(api); err != nil {
		return "", err
	}
	handshake := time.AfterFunc(v.server.options.Handshake, func() { v.close("it did not connect in time") })
	v.pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			if handshake.Stop() {
				close(v.connected)
			}
		case webrtc.PeerConnectionStateFailed:
			v.close("the connection was lost")
		case webrtc.PeerConnectionStateClosed:
			v.close("the client has closed the connection")
		}
	})
	if err := v.addTrack(); err != nil {
		return "", err
	}
	if v.offer.channel {
		if err := v.addChannel(); err != nil {
			return "", err
		}
	}
	if err := v.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: text}); err != nil {
		return "", fmt.Errorf("%w: %v", ErrOffer, err)
	}
	local, err := v.pc.CreateAnswer(nil)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrOffer, err)
	}
	gathered := webrtc.GatheringCompletePromise(v.pc)
	if err := v.pc.SetLocalDescription(local); err != nil {
		return "", fmt.Errorf("%w: %v", ErrOffer, err)
	}
	select {
	case <-gathered:
	case <-ctx.Done():
		return "", ctx.Err()
	case <-v.done:
		return "", ErrClosed
	}
	return v.pc.LocalDescription().SDP, nil
}

// connect makes the connection, unless the viewer has been sent away meanwhile.
func (v *viewer) connect(api *webrtc.API) error {
	pc, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	select {
	case <-v.done:
		return errors.Join(ErrClosed, pc.Close())
	default:
		v.pc = pc
		return nil
	}
}

func (v *viewer) addTrack() (err error) {
	if v.track, err = webrtc.NewTrackLocalStaticRTP(v.offer.chosen.RTPCodecCapability, "video", v.stream.name); err != nil {
		return err
	}
	sender, err := v.pc.AddTrack(v.track)
	if err != nil {
		return err
	}
	go func() { // until the connection is closed; the interceptors see only what is read
		for {
			packets, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			for _, p := range packets {
				switch p.(type) {
				case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
					v.lost.Store(true)
				}
			}
		}
	}()
	return nil
}

func (v *viewer) addChannel() (err error) {
	ordered, life, protocol := false, channelLife, protocol
	if v.channel, err = v.pc.CreateDataChannel("masks", &webrtc.DataChannelInit{Ordered: &ordered, MaxPacketLifeTime: &life, Protocol: &protocol}); err != nil {
		return err
	}
	v.channel.OnOpen(func() { close(v.opened) })
	v.channel.OnMessage(v.heard)
	return nil
}

// trickle takes an SDP fragment (RFC 8840): the client's candidates, one a line.
func (v *viewer) trickle(fragment string) error {
	remote := v.pc.RemoteDescription()
	if remote == nil {
		return ErrNoSession
	}
	mid := ""
	for line := range strings.SplitSeq(fragment, "\n") {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "a=ice-ufrag":
			if !strings.Contains(remote.SDP, line) {
				return ErrRestart
			}
		case "a=mid":
			mid = value
		case "a=candidate":
			candidate := webrtc.ICECandidateInit{Candidate: "candidate:" + value}
			if mid != "" {
				m := mid
				candidate.SDPMid = &m
			}
			if err := v.pc.AddICECandidate(candidate); err != nil {
				return fmt.Errorf("%w: candidate %.120q: %v", ErrOffer, value, err)
			}
		}
	}
	return nil
}
