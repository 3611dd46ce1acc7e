package ingest

import (
	"bytes"
	"testing"

	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

func astiavCodec(c frames.Codec) *astiav.Codec {
	if c == frames.VP8 {
		return astiav.FindDecoder(astiav.CodecIDVp8)
	}
	return astiav.FindDecoder(astiav.CodecIDH264)
}

func sendUnit(t *testing.T, d *decoder, data []byte) {
	t.Helper()
	p := astiav.AllocPacket()
	defer p.Free()
	if err := fillPacket(p, data); err != nil {
		t.Fatal(err)
	}
	d.send(p)
}

var (
	sps   = []byte{0x67, 66, 0xc0, 30, 1, 2}
	pps   = []byte{0x68, 3, 4}
	idr   = []byte{0x65, 5, 0, 0, 3, 1}
	slice = []byte{0x41, 6, 7}
)

func annexB(nals ...[]byte) (b []byte) {
	for _, n := range nals {
		b = appendNAL(b, n)
	}
	return b
}

func lengths(nals ...[]byte) (b []byte) {
	for _, n := range nals {
		b = append(append(b, 0, 0, 0, byte(len(n))), n...)
	}
	return b
}

func TestKeyPicturesBeginWithTheirParameterSets(t *testing.T) {
	avcC := append([]byte{1, 66, 0xc0, 30, 0xff, 0xe1, 0, byte(len(sps))}, sps...)
	avcC = append(append(avcC, 1, 0, byte(len(pps))), pps...)
	other := []byte{0x67, 77, 0, 30, 9}
	for name, c := range map[string]struct {
		header  []byte
		packets [][]byte
		want    [][]byte
	}{
		"MP4":                  {avcC, [][]byte{lengths(idr), lengths(slice)}, [][]byte{annexB(sps, pps, idr), annexB(slice)}},
		"RTSP":                 {annexB(sps, pps), [][]byte{annexB(idr), annexB(slice)}, [][]byte{annexB(sps, pps, idr), annexB(slice)}},
		"sets in the stream":   {nil, [][]byte{annexB(sps, pps, idr), annexB(slice), annexB(idr)}, [][]byte{annexB(sps, pps, idr), annexB(slice), annexB(sps, pps, idr)}},
		"sets that change":     {annexB(sps, pps), [][]byte{annexB(other, pps, idr), annexB(idr)}, [][]byte{annexB(other, pps, idr), annexB(other, pps, idr)}},
		"short start codes":    {nil, [][]byte{append([]byte{0, 0, 1}, slice...)}, [][]byte{annexB(slice)}},
		"a packet cut off":     {avcC, [][]byte{lengths(slice)[:5], lengths(slice)}, [][]byte{{}, annexB(slice)}},
		"a header cut off":     {avcC[:9], [][]byte{lengths(idr)}, [][]byte{annexB(idr)}},
		"a header of one byte": {[]byte{1}, [][]byte{annexB(idr)}, [][]byte{annexB(idr)}},
	} {
		t.Run(name, func(t *testing.T) {
			coded := newCodedPictures(c.header)
			p := astiav.AllocPacket()
			defer p.Free()
			for i, packet := range c.packets {
				if err := p.FromData(packet); err != nil {
					t.Fatal(err)
				}
				p.SetPts(int64(i))
				coded.add(p)
			}
			for i, want := range c.want {
				got := coded.take(int64(i))
				if got == nil || !bytes.Equal(got.Data, want) || got.Key != bytes.Contains(want, idr) {
					t.Errorf("picture %d is %+v, want % x", i, got, want)
				}
				if coded.take(int64(i)) != nil {
					t.Errorf("picture %d is there twice", i)
				}
			}
		})
	}
}

func TestPicturesOutOfOrderDoNotPass(t *testing.T) {
	coded := newCodedPictures(annexB(sps, pps))
	p := astiav.AllocPacket()
	defer p.Free()
	for _, at := range []int64{0, 3, 1, 2, 6} {
		if err := p.FromData(annexB(slice)); err != nil {
			t.Fatal(err)
		}
		p.SetPts(at)
		coded.add(p)
	}
	for at := range int64(7) {
		if coded.take(at) != nil {
			t.Errorf("picture %d passes", at)
		}
	}
}

func FuzzNALs(f *testing.F) {
	f.Add(annexB(sps, pps, idr), byte(0))
	f.Add(lengths(sps, idr), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, lengthSize byte) {
		for _, nal := range splitNALs(data, int(lengthSize%5)) {
			if len(nal) == 0 {
				t.Error("an empty NAL unit")
			}
		}
		avcSets(data)
		newCodedPictures(data)
	})
}
