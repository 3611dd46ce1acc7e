package ingest

// #include <libavutil/frame.h>
// #include <libswscale/swscale.h>
//
// // Brings src to dst's size and format, in dst's limited range.
// static int maskstream_live(struct SwsContext **scaler, const AVFrame *src, AVFrame *dst, int space, int full) {
// 	const int *k = sws_getCoefficients(space);
// 	*scaler = sws_getCachedContext(*scaler, src->width, src->height, src->format, dst->width, dst->height, dst->format,
// 		SWS_FAST_BILINEAR, NULL, NULL, NULL);
// 	if (!*scaler) return AVERROR(ENOSYS);
// 	sws_setColorspaceDetails(*scaler, k, full, k, 0, 0, 1 << 16, 1 << 16);
// 	int rows = sws_scale(*scaler, (const uint8_t *const *)src->data, src->linesize, 0, src->height, dst->data, dst->linesize);
// 	return rows < 0 ? rows : 0;
// }
import "C"

import (
	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// live is convert for the preview: to another size as well, to limited range, and quick rather than exact.
func (s *scaler) live(src, dst *astiav.Frame, matrix frames.Matrix, full bool) error {
	coefficients, fullRange := C.int(C.SWS_CS_ITU601), C.int(0)
	if matrix != frames.BT601 {
		coefficients = C.SWS_CS_ITU709
	}
	if full {
		fullRange = 1
	}
	if code := C.maskstream_live(&s.c, frameOf(src), frameOf(dst), coefficients, fullRange); code < 0 {
		return astiav.Error(code)
	}
	return nil
}

// pixelsOf is what FFmpeg calls a picture's format.
func pixelsOf(f frames.Format) astiav.PixelFormat {
	switch f {
	case frames.RGB24:
		return astiav.PixelFormatRgb24
	case frames.YUV420P:
		return astiav.PixelFormatYuv420P
	case frames.YUV422P:
		return astiav.PixelFormatYuv422P
	case frames.YUV444P:
		return astiav.PixelFormatYuv444P
	case frames.NV12:
		return astiav.PixelFormatNv12
	case frames.Gray8:
	}
	return astiav.PixelFormatGray8
}

// fillPlanes copies a picture into a frame of its size and format.
func fillPlanes(f *astiav.Frame, p *frames.Picture) {
	strides := f.Linesize()
	for i, size := range planeSizes(p.Format, p.Width, p.Height) {
		if size.width == 0 {
			continue
		}
		to := plane(f, i, size.rows, size.width)
		for y := range size.rows {
			copy(to[y*strides[i]:][:size.width], p.Planes[i][y*p.Strides[i]:])
		}
	}
}

// sideways says whether width and height change places.
func sideways(r frames.Rotation) bool { return r&1 != 0 }

// turn brings a 4:2:0 frame upright, into one of the size that it has then.
func turn(dst, src *astiav.Frame, r frames.Rotation) {
	from, to := src.Linesize(), dst.Linesize()
	for i := range 3 {
		w, h := src.Width(), src.Height()
		if i > 0 {
			w, h = w/2, h/2
		}
		dw, dh := w, h
		if sideways(r) {
			dw, dh = h, w
		}
		in, out := plane(src, i, h, w), plane(dst, i, dh, dw)
		for y := range dh {
			row := out[y*to[i]:][:dw]
			for x := range row {
				sx, sy := x, y // in the source
				switch r &^ frames.Mirrored {
				case frames.Rotate90:
					sx, sy = y, h-1-x
				case frames.Rotate180:
					sx, sy = w-1-x, h-1-y
				case frames.Rotate270:
					sx, sy = w-1-y, x
				}
				if r&frames.Mirrored != 0 {
					sx = w - 1 - sx
				}
				row[x] = in[sy*from[i]+sx]
			}
		}
	}
}
