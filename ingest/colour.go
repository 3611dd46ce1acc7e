package ingest

import (
	"math"
	"strings"

	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// spaceOf is one of BT.601 (as BT470BG), BT.709 and BT.2020: what the frame says, else by its height, as players do.
func spaceOf(s astiav.ColorSpace, height int) astiav.ColorSpace {
	switch s {
	case astiav.ColorSpaceBt709, astiav.ColorSpaceSmpte240M: // 240M is 709 to within a byte or two
		return astiav.ColorSpaceBt709
	case astiav.ColorSpaceBt2020Ncl, astiav.ColorSpaceBt2020Cl:
		return astiav.ColorSpaceBt2020Ncl
	case astiav.ColorSpaceBt470Bg, astiav.ColorSpaceSmpte170M, astiav.ColorSpaceFcc:
		return astiav.ColorSpaceBt470Bg
	}
	if height >= 720 {
		return astiav.ColorSpaceBt709
	}
	return astiav.ColorSpaceBt470Bg
}

func matrixOf(s astiav.ColorSpace) frames.Matrix {
	switch s {
	case astiav.ColorSpaceBt709:
		return frames.BT709
	case astiav.ColorSpaceBt2020Ncl:
		return frames.BT2020
	}
	return frames.BT601
}

func spaceName(s astiav.ColorSpace) string {
	switch s {
	case astiav.ColorSpaceRgb:
		return "rgb"
	case astiav.ColorSpaceBt709:
		return "bt709"
	case astiav.ColorSpaceBt470Bg:
		return "bt470bg"
	case astiav.ColorSpaceSmpte170M:
		return "smpte170m"
	case astiav.ColorSpaceSmpte240M:
		return "smpte240m"
	case astiav.ColorSpaceBt2020Ncl, astiav.ColorSpaceBt2020Cl:
		return "bt2020"
	}
	return "unspecified"
}

func rangeName(r astiav.ColorRange, f astiav.PixelFormat) string {
	l, _ := direct(f)
	switch {
	case r == astiav.ColorRangeJpeg || l.full:
		return "pc"
	case r == astiav.ColorRangeMpeg:
		return "tv"
	}
	return "unspecified"
}

// nearest is what a format that is not taken as it is becomes: RGB stays RGB, gray stays gray, YUV keeps its chroma's
// resolution where there is such a layout. Alpha is dropped, as PIL's convert("RGB") does.
func nearest(f astiav.PixelFormat) layout {
	name := f.Name()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("gray", "ya8", "ya16", "mono"):
		return layout{frames.Gray8, astiav.PixelFormatGray8, true}
	case has("420", "nv21", "p010", "p012", "p016"):
		return layout{frames.YUV420P, astiav.PixelFormatYuv420P, has("yuvj")}
	case has("422", "nv16", "nv20", "p210", "p216", "y210", "y212"):
		return layout{frames.YUV422P, astiav.PixelFormatYuv422P, has("yuvj")}
	case strings.HasPrefix(name, "yuv"), has("nv24", "nv42", "p410", "p416", "ayuv", "vuy", "uyyvyy411"):
		return layout{frames.YUV444P, astiav.PixelFormatYuv444P, has("yuvj")}
	}
	return layout{frames.RGB24, astiav.PixelFormatRgb24, true}
}

// rotationOf reads a display matrix: rows (a b u), (c d v), (x y w), by which a point (x, y) is shown at (ax+cy, bx+dy). Angles
// between quarters become the nearest one.
func rotationOf(sideData []byte) frames.Rotation {
	m, err := astiav.NewDisplayMatrixFromBytes(sideData)
	if err != nil {
		return frames.Rotate0
	}
	a, b, c, d := float64(int32(m[0])), float64(int32(m[1])), float64(int32(m[3])), float64(int32(m[4]))
	mirrored := frames.Rotate0
	if a*d-b*c < 0 { // without the mirror the x axis is shown the other way round
		a, b, mirrored = -a, -b, frames.Mirrored
	}
	if a == 0 && b == 0 {
		return frames.Rotate0
	}
	quarters := int(math.Round(math.Atan2(b, a) / (math.Pi / 2)))
	return frames.Rotation((quarters+4)%4) | mirrored
}
