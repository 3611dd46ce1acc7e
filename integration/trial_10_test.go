package integration

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/transport/v5/vnet"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/sink/rtc"
)

// A viewer that stops to read loses what is old, and costs the others nothing and the service no memory.
func TestTrial10SlowViewer(t *testing.T) {
	s := configured(t, "testscene:", ballPrompt)
	var deaf atomic.Bool
	slow := s.watch(t, "demo", "", whepOptions{deaf: deaf.Load, smallWindow: true})
	good := s.watch(t, "demo", "", whepOptions{})
	_, frames := slow.until("masks", func(_ []viewed, frames []*rle.Frame) bool { return len(frames) >= 10 })
	slow.say(frames[len(frames)-1].RTP) // like a page; the last word for a while
	good.until("masks", func(_ []viewed, frames []*rle.Frame) bool { return len(frames) >= 10 })

	deaf.Store(true)
	const written = `tracker_sink_written_total{sink="webrtc",stream="demo"}`
	heap, before := s.metric(t, "go_memstats_heap_inuse_bytes"), s.metric(t, written)
	_, frames = good.until("masks", func([]viewed, []*rle.Frame) bool { return true })
	have, leftOut := len(frames), 0
	var most int
	for began := time.Now(); leftOut < 100; time.Sleep(100 * time.Millisecond) {
		leftOut = s.metric(t, `tracker_webrtc_dropped_total{reason="not_drawn",stream="demo"}`) + s.metric(t, `tracker_webrtc_dropped_total{reason="buffered",stream="demo"}`)
		most = max(most, s.metric(t, `tracker_webrtc_buffered_bytes{stream="demo"}`))
		if time.Since(began) > 90*time.Second {
			t.Fatalf("%d frames of results were left out for the slow viewer, and 100 should be", leftOut)
		}
	}
	made := s.metric(t, written) - before
	_, frames = good.until("masks", func(_ []viewed, frames []*rle.Frame) bool { return len(frames)-have >= made-10 })
	grown := s.metric(t, "go_memstats_heap_inuse_bytes") - heap
	t.Logf("while %d frames were left out for the slow viewer, %d of %d came to the other; %d bytes waited at most, and the heap grew by %d MiB", leftOut, len(frames)-have, made, most, grown/(1<<20))
	if most > 300<<10 {
		t.Errorf("%d bytes waited for the slow viewer", most)
	}
	if grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown/(1<<20))
	}

	deaf.Store(false)
	newest := frames[len(frames)-1]
	slow.say(newest.RTP)
	slow.until("the newest masks", func(_ []viewed, frames []*rle.Frame) bool {
		return len(frames) > 0 && frames[len(frames)-1].Seq > newest.Seq
	})
	slow.until("pictures to go on", func(pictures []viewed, _ []*rle.Frame) bool {
		return len(pictures) > 0 && int32(pictures[len(pictures)-1].rtp-newest.RTP) > 0
	})
}

// On a network that loses 5 of 100 packets a viewer gets most of the masks and goes on to get pictures, and another viewer gets all.
func TestTrial10LossyNetwork(t *testing.T) {
	router, err := vnet.NewRouter(&vnet.RouterConfig{CIDR: "10.0.0.0/24", LoggerFactory: logging.NewDefaultLoggerFactory()})
	if err != nil {
		t.Fatal(err)
	}
	host := func(ip string) *vnet.Net {
		n, err := vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{ip}})
		if err != nil {
			t.Fatal(err)
		}
		if err := router.AddNet(n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const bad = "10.0.0.3"
	serverNet, lossyNet, goodNet := host("10.0.0.1"), host(bad), host("10.0.0.2")
	var count, lost atomic.Int64
	var lossy atomic.Bool // not before they are connected, so that the test is about what follows
	router.AddChunkFilter(func(c vnet.Chunk) bool {
		if lossy.Load() && c.DestinationAddr().(interface{ String() string }).String()[:len(bad)] == bad && count.Add(1)*13%100 < 5 {
			lost.Add(1)
			return false
		}
		return true
	})
	if err := router.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { router.Stop() })

	server, err := rtc.NewServer(rtc.Options{Net: serverNet, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	stream := server.Add("demo", rtc.StreamOptions{NewEncoder: func(c frames.Codec) rtc.Encoder { return ingest.NewLiveEncoder(c) }})
	t.Cleanup(func() {
		stream.Close(context.Background())
		server.Close()
	})
	watch := func(o whepOptions) *whepClient {
		client, offer := newWHEPClient(t, o)
		_, answer, err := server.Open(t.Context(), "demo", offer, nil)
		if err != nil {
			t.Fatal(err)
		}
		client.answer(answer)
		return client
	}
	lossyClient, goodClient := watch(whepOptions{net: lossyNet}), watch(whepOptions{net: goodNet})

	scene, err := ingest.ParseTestScene("testscene:?size=320x180")
	if err != nil {
		t.Fatal(err)
	}
	noise := largeMask(180, 320)
	frame := 0
	show := func() {
		rgb := make([]byte, 3*320*180)
		scene.Render(frame, rgb)
		meta := frames.Meta{Frame: frame, RTP: uint32(frame) * 3600, Received: time.Now()}
		p := (&frames.Picture{Width: 320, Height: 180, Format: frames.RGB24, FullRange: true, Planes: [3][]byte{rgb}, Strides: [3]int{3 * 320}, Meta: meta}).Own(nil)
		stream.Show(p)
		result := &rle.Frame{V: 1, Stream: "demo", Seq: int64(frame), Frame: frame, RTP: meta.RTP, Size: [2]int{180, 320}, Direction: rle.Forward,
			Objects: []rle.Object{{ID: 1, State: rle.Tracked, Segmentation: noise.COCO(), Area: noise.Area(), BBox: noise.Box()}}}
		if err := stream.Write(t.Context(), sink.Item{Result: result}); err != nil {
			t.Fatal(err)
		}
		p.Release()
		frame++
		time.Sleep(20 * time.Millisecond)
	}
	for began := time.Now(); stream.Stats().Viewers < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the viewers do not connect within 30 s")
		}
	}
	lossy.Store(true)
	const shownFrames = 300
	for range shownFrames {
		show()
	}
	newest := func(c *whepClient) (pictures, masks int) { // numbers of the last frames that came
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, a := range c.arrivals {
			switch a := a.(type) {
			case viewed:
				pictures = max(pictures, int(a.rtp/3600))
			case *rle.Frame:
				masks = max(masks, a.Frame)
			}
		}
		return pictures, masks
	}
	for began := time.Now(); ; show() {
		pictures, masks := newest(lossyClient)
		if pictures >= shownFrames && masks >= shownFrames {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("of %d frames the viewer has pictures up to %d and masks up to %d", frame, pictures, masks)
		}
	}
	_, all := goodClient.until("most masks", func(_ []viewed, all []*rle.Frame) bool { return len(all) >= frame*80/100 })
	_, some := lossyClient.until("anything", func([]viewed, []*rle.Frame) bool { return true })
	t.Logf("%d packets to the viewer were lost; %d of %d frames of results came to it, %d to the other; %s", lost.Load(), len(some), frame, len(all), fmt.Sprint(stream.Stats().Dropped))
	if lost.Load() == 0 {
		t.Error("nothing was lost")
	}
}

// largeMask has several chunks.
func largeMask(height, width int) rle.Mask {
	bits := make([]byte, height*width)
	for i := range bits {
		bits[i] = byte(i*i/7+i/3) & 1
	}
	return rle.FromBits(height, width, bits)
}
