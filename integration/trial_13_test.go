package integration

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"maskstream/rle"
)

// videoOf waits until the status of the stream says what becomes of its pictures.
func (s *service) videoOf(t *testing.T) (video, reason string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if status := s.webrtcStatus(t, "demo"); status.Video != "" {
			return status.Video, status.Reason
		}
	}
	t.Fatal("the status does not say what becomes of the pictures")
	return "", ""
}

// What a browser cannot show as it is, is coded again: the pictures that come are in order, each is the one that its frame of results is
// about, and the status says why.
func TestTrial13BFrames(t *testing.T) {
	for name, c := range map[string]struct {
		coding []string
		reason string
	}{
		"H.264 with B-frames": {[]string{"-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"}, "B-frames"},
		"H.265":               {[]string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"}, "hevc"},
		"4:2:2":               {[]string{"-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv422p"}, "yuv422p"},
	} {
		t.Run(name, func(t *testing.T) {
			s := configured(t, numberedClip(t, "clip.mp4", 1500, c.coding...), "")
			if video, reason := s.videoOf(t); video != "coded again" || !strings.Contains(reason, c.reason) {
				t.Errorf("the video is %s: %s", video, reason)
			}
			client := s.watch(t, "demo", "", whepOptions{})
			pictures, frames := client.until("pictures with their masks", func(pictures []viewed, frames []*rle.Frame) bool { return len(pictures) >= 60 && len(frames) >= 60 })
			byTime := map[uint32]int{}
			for _, f := range frames {
				byTime[f.RTP] = f.Frame
			}
			numbers := numbersIn(t, pictures)
			if len(numbers) != len(pictures) {
				t.Fatalf("%d pictures came, %d could be decoded", len(pictures), len(numbers))
			}
			checked := 0
			for i, n := range numbers {
				if i > 0 && n <= numbers[i-1] {
					t.Errorf("picture %d comes after %d", n, numbers[i-1])
				}
				if frame, ok := byTime[pictures[i].rtp]; ok {
					checked++
					if frame != n {
						t.Errorf("picture %d has the time of frame %d", n, frame)
					}
				}
			}
			if checked < 50 {
				t.Errorf("%d pictures had frames of results of their time", checked)
			}
		})
	}
}

// An H.264 source without B-frames passes through: the NAL units that come are those that were sent, bit by bit and all of them.
func TestTrial13PassThrough(t *testing.T) {
	coding := []string{"-c:v", "libx264", "-profile:v", "baseline", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p"}
	for name, source := range map[string]func(clip string) string{
		"file": func(clip string) string { return clip },
		"camera": func(clip string) string {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := listener.Addr().String()
			listener.Close()
			camera := exec.Command("ffmpeg", "-v", "error", "-re", "-i", clip, "-c", "copy", "-f", "mpegts", "tcp://"+address+"?listen=1")
			if err := camera.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				camera.Process.Kill()
				camera.Wait()
			})
			return "tcp://" + address
		},
	} {
		t.Run(name, func(t *testing.T) {
			clip := numberedClip(t, "clip.mp4", 1500, coding...)
			sent := coded(nalsOf(t, clip))
			s := configured(t, source(clip), "")
			if video, reason := s.videoOf(t); video != "passed through" || reason != "" {
				t.Fatalf("the video is %s: %s", video, reason)
			}
			client := s.watch(t, "demo", "", whepOptions{})
			first := 0 // the source's first key picture that came; before it pictures were coded for this viewer
			at := -1   // of it in the file
			pictures, _ := client.until("pictures of the source", func(pictures []viewed, _ []*rle.Frame) bool {
				for ; at < 0 && first < len(pictures); first++ {
					if at = indexOf(sent, coded(pictures[first].nals)[0]); at >= 0 {
						break
					}
				}
				return at >= 0 && len(pictures) >= first+60
			})
			var got [][]byte
			for _, p := range pictures[first : first+60] {
				got = append(got, coded(p.nals)...)
			}
			for i, nal := range got {
				if !bytes.Equal(nal, sent[at+i]) {
					t.Fatalf("slice %d of %d differs from what was sent", i, len(got))
				}
			}
			t.Logf("%d slices in %d pictures came as they were sent, after %d pictures that were coded for the viewer", len(got), 60, first)
			if n := numbersIn(t, pictures[first:first+60]); n[0] < 0 || n[59] != n[0]+59 {
				t.Errorf("they show the numbers %v", n)
			}
		})
	}
}

// coded are the NAL units that hold pictures.
func coded(nals [][]byte) (all [][]byte) {
	for _, nal := range nals {
		if kind := nal[0] & 0x1f; kind == 1 || kind == 5 {
			all = append(all, nal)
		}
	}
	return all
}

func indexOf(nals [][]byte, nal []byte) int {
	for i := range nals {
		if bytes.Equal(nals[i], nal) {
			return i
		}
	}
	return -1
}

// A viewer without H.264 gets VP8, and one with neither learns so.
func TestTrial13OtherCodecs(t *testing.T) {
	s := configured(t, "testscene:", "")
	client := s.watch(t, "demo", "", whepOptions{codecs: []webrtc.RTPCodecParameters{vp8Codec}})
	pictures, _ := client.until("pictures", func(pictures []viewed, frames []*rle.Frame) bool { return len(pictures) >= 10 && len(frames) >= 5 })
	if !pictures[0].key {
		t.Error("the first picture is no key picture")
	}
	_, offer := newWHEPClient(t, whepOptions{codecs: []webrtc.RTPCodecParameters{vp8Codec}})
	offer = strings.ReplaceAll(offer, "VP8/90000", "AV1/90000")
	if status, _, body := s.post(t, "/whep/demo", offer); status != 406 || !strings.Contains(body, "not_acceptable") {
		t.Errorf("an offer of AV1 alone: %d %s", status, body)
	}
	plain := s.watch(t, "demo", "", whepOptions{plain: true})
	if _, frames := plain.until("pictures of a plain player", func(pictures []viewed, _ []*rle.Frame) bool { return len(pictures) >= 10 }); len(frames) > 0 {
		t.Error("a player without a channel got ", len(frames), " frames of results")
	}
}
