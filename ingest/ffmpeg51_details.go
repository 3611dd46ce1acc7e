package ingest

// What go-astiav v0.16.0 does not tell of frames and streams, for FFmpeg 5.1 as ffmpeg51.go.

/*
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
*/
import "C"

import (
	"unsafe"

	"github.com/asticode/go-astiav"
)

func isKey(f *astiav.Frame) bool { return (*C.AVFrame)(f.UnsafePointer()).key_frame != 0 }

func lookAt(f *astiav.Frame) look {
	c := (*C.AVFrame)(f.UnsafePointer())
	return look{format: f.PixelFormat(), space: colourSpace(f), colourRange: f.ColorRange(), interlaced: c.interlaced_frame != 0, topFirst: c.top_field_first != 0}
}

// codedSize is what the decoder works with, which may be more than it shows.
func codedSize(context *astiav.CodecContext) (width, height int) {
	c := *(**C.AVCodecContext)(unsafe.Pointer(context))
	return int(c.coded_width), int(c.coded_height)
}

// parametersOf reads the one field of go-astiav's CodecParameters, for which it has no UnsafePointer.
func parametersOf(parameters *astiav.CodecParameters) *C.AVCodecParameters {
	return *(**C.AVCodecParameters)(unsafe.Pointer(parameters))
}

// profileName is empty where the codec has none.
func profileName(parameters *astiav.CodecParameters) string {
	c := parametersOf(parameters)
	return C.GoString(C.avcodec_profile_name(c.codec_id, c.profile))
}

// transferName is empty where the stream does not say.
func transferName(parameters *astiav.CodecParameters) string {
	if transfer := parametersOf(parameters).color_trc; transfer != C.AVCOL_TRC_UNSPECIFIED {
		return C.GoString(C.av_color_transfer_name(transfer))
	}
	return ""
}

// fieldOrder is which field comes first as the container says: "top", "bottom", or empty for whole pictures.
func fieldOrder(parameters *astiav.CodecParameters) string {
	switch parametersOf(parameters).field_order {
	case C.AV_FIELD_TT, C.AV_FIELD_TB:
		return "top"
	case C.AV_FIELD_BB, C.AV_FIELD_BT:
		return "bottom"
	}
	return ""
}
