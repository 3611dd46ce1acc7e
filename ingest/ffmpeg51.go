package ingest

// What go-astiav v0.16.0 lacks or gets wrong, for FFmpeg 5.1. Another FFmpeg is one more file like this, with the same Go
// functions: its frame and context layouts and the names of its side data differ, nothing else in this package does.

/*
#cgo pkg-config: libavformat libavcodec libavutil libswscale
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/log.h>
#include <libavutil/time.h>
#include <libswscale/swscale.h>

extern void maskstreamFFmpegLog(int level, uintptr_t id, char *line);

static int maskstream_log_max = AV_LOG_WARNING;

static void maskstream_log(void *ptr, int level, const char *fmt, va_list args) {
	static __thread int prefix = 1;
	char line[1024];
	level &= 0xff;
	if (level > __atomic_load_n(&maskstream_log_max, __ATOMIC_RELAXED)) return;
	av_log_format_line2(ptr, level, fmt, args, line, sizeof line, &prefix); // bounded, unlike vsprintf
	maskstreamFFmpegLog(level, (uintptr_t)fmt, line);
}

static void maskstream_install_log(void) { av_log_set_callback(maskstream_log); }
static void maskstream_set_log_max(int level) { __atomic_store_n(&maskstream_log_max, level, __ATOMIC_RELAXED); }

// In C memory, because FFmpeg keeps the pointer and asks from its own threads.
typedef struct { int64_t deadline; int cancelled, expired; } maskstream_interrupt;

static int maskstream_interrupted(void *opaque) {
	maskstream_interrupt *i = opaque;
	int64_t deadline = __atomic_load_n(&i->deadline, __ATOMIC_RELAXED);
	if (__atomic_load_n(&i->cancelled, __ATOMIC_RELAXED)) return 1;
	if (!deadline || av_gettime_relative() < deadline) return 0;
	__atomic_store_n(&i->expired, 1, __ATOMIC_RELAXED);
	return 1;
}
static void *maskstream_interrupt_new(AVFormatContext *context) {
	maskstream_interrupt *i = calloc(1, sizeof *i);
	if (!i) return NULL;
	context->interrupt_callback.callback = maskstream_interrupted;
	context->interrupt_callback.opaque = i;
	return i;
}
static void maskstream_interrupt_cancel(void *p) { __atomic_store_n(&((maskstream_interrupt *)p)->cancelled, 1, __ATOMIC_RELAXED); }
static int maskstream_interrupt_expired(void *p) { return __atomic_load_n(&((maskstream_interrupt *)p)->expired, __ATOMIC_RELAXED); }
static void maskstream_interrupt_within(void *p, int64_t microseconds) {
	__atomic_store_n(&((maskstream_interrupt *)p)->deadline, microseconds ? av_gettime_relative() + microseconds : 0, __ATOMIC_RELAXED);
}

// Brings src to dst's format at the same size, without a change of range. dst has its buffers.
static int maskstream_convert(struct SwsContext **scaler, const AVFrame *src, AVFrame *dst, int space, int full) {
	const int *k = sws_getCoefficients(space);
	*scaler = sws_getCachedContext(*scaler, src->width, src->height, src->format, dst->width, dst->height, dst->format,
		SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP, NULL, NULL, NULL);
	if (!*scaler) return AVERROR(ENOSYS);
	sws_setColorspaceDetails(*scaler, k, full, k, full, 0, 1 << 16, 1 << 16);
	int rows = sws_scale(*scaler, (const uint8_t *const *)src->data, src->linesize, 0, src->height, dst->data, dst->linesize);
	return rows < 0 ? rows : 0;
}
*/
import "C"

import (
	"encoding/binary"
	"sync"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// FFmpegVersion is the version of the library this process runs with, like "5.1.9-0+deb12u1".
func FFmpegVersion() string { return C.GoString(C.av_version_info()) }

// Levels of FFmpeg's messages.
const (
	ffmpegFatal   = C.AV_LOG_FATAL
	ffmpegWarning = C.AV_LOG_WARNING
	ffmpegVerbose = C.AV_LOG_VERBOSE
)

func installLog()             { C.maskstream_install_log() }
func setLogLevel(highest int) { C.maskstream_set_log_max(C.int(highest)) }

// interrupt ends FFmpeg's blocking calls: at once by cancel, or at a deadline. It lives from before OpenInput, which is when
// FFmpeg hands it on to the protocols, until after CloseInput. (go-astiav's own is Go memory without atomic access.)
type interrupt struct {
	mu sync.Mutex // cancel comes from another goroutine, and may come after free
	p  unsafe.Pointer
}

func newInterrupt(context *astiav.FormatContext) *interrupt {
	return &interrupt{p: C.maskstream_interrupt_new(formatOf(context))}
}

// formatOf reads the one field of go-astiav's FormatContext, for which it has no UnsafePointer.
func formatOf(context *astiav.FormatContext) *C.AVFormatContext {
	return *(**C.AVFormatContext)(unsafe.Pointer(context))
}

func (i *interrupt) cancel() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.p != nil {
		C.maskstream_interrupt_cancel(i.p)
	}
}

func (i *interrupt) free() {
	i.mu.Lock()
	defer i.mu.Unlock()
	C.free(i.p)
	i.p = nil
}

func (i *interrupt) expired() bool { return C.maskstream_interrupt_expired(i.p) != 0 }

// within sets the deadline from now; 0 takes it away.
func (i *interrupt) within(d time.Duration) {
	C.maskstream_interrupt_within(i.p, C.int64_t(d.Microseconds()))
}

func frameOf(f *astiav.Frame) *C.AVFrame { return (*C.AVFrame)(f.UnsafePointer()) }

// bestTimestamp is the frame's time in the stream's time base, as FFmpeg guesses it from PTS and DTS.
func bestTimestamp(f *astiav.Frame) (t int64, ok bool) {
	t = int64(frameOf(f).best_effort_timestamp)
	return t, t != C.AV_NOPTS_VALUE
}

// mended says that parts of the frame were lost and made up.
func mended(f *astiav.Frame) bool {
	c := frameOf(f)
	return c.decode_error_flags != 0 || c.flags&C.AV_FRAME_FLAG_CORRUPT != 0
}

// colourSpace is the matrix in the frame's own words (ITU-T H.273).
func colourSpace(f *astiav.Frame) astiav.ColorSpace {
	return astiav.ColorSpace(frameOf(f).colorspace)
}

// plane is rows rows of plane i as they lie in the frame's buffer, without the padding after the last one: nil where the
// rows run upwards. It is valid as long as the frame holds its reference.
func plane(f *astiav.Frame, i, rows, width int) []byte {
	c := frameOf(f)
	stride := int(c.linesize[i])
	if c.data[i] == nil || stride < width {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(c.data[i])), stride*(rows-1)+width)
}

// fillRows copies RGBA rows into the frame's first plane.
func fillRows(f *astiav.Frame, pix []byte, stride, width, rows int) {
	c := frameOf(f)
	for y := range rows {
		row := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[0]), y*int(c.linesize[0]))), int(c.width)*4)
		n := copy(row, pix[y*stride:][:4*width])
		for ; n < len(row); n++ { // a padded column repeats the last one
			row[n] = row[n-4]
		}
	}
	for y := rows; y < int(c.height); y++ {
		last := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[0]), (y-1)*int(c.linesize[0]))), int(c.width)*4)
		copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[0]), y*int(c.linesize[0]))), int(c.width)*4), last)
	}
}

// fillPacket copies data into the packet, with the zeros behind it that decoders read ahead into. (go-astiav's FromData
// leaves them out.)
func fillPacket(p *astiav.Packet, data []byte) error {
	p.Unref()
	if err := p.AllocPayload(len(data)); err != nil {
		return err
	}
	c := *(**C.AVPacket)(unsafe.Pointer(p))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(c.data)), len(data)), data)
	c.flags |= C.AV_PKT_FLAG_KEY // or the PNG decoder adds the picture before
	return nil
}

// seekBack makes the next packet one from which the decoder can begin, at or before a time in the stream's time base.
func seekBack(context *astiav.FormatContext, stream int, at int64) error {
	if code := C.av_seek_frame(formatOf(context), C.int(stream), C.int64_t(at), C.AVSEEK_FLAG_BACKWARD); code < 0 {
		return astiav.Error(code)
	}
	return nil
}

// flush makes the decoder forget the packets before.
func flush(context *astiav.CodecContext) { C.avcodec_flush_buffers(contextOf(context)) }

// contextOf reads the one field of go-astiav's CodecContext, for which it has no UnsafePointer.
func contextOf(context *astiav.CodecContext) *C.AVCodecContext {
	return *(**C.AVCodecContext)(unsafe.Pointer(context))
}

// recorded says that what comes from the network is all there already: a playlist that has its end, or a file whose server
// tells its size and lets us go to any part of it. A duration tells both, but for files that do not say theirs.
func recorded(context *astiav.FormatContext) bool {
	c := formatOf(context)
	playlist := c.ctx_flags&C.AVFMTCTX_UNSEEKABLE != 0 || C.GoString(c.iformat.name) == "hls" || C.GoString(c.iformat.name) == "dash"
	return c.duration > 0 || !playlist && c.pb != nil && c.pb.seekable&C.AVIO_SEEKABLE_NORMAL != 0 && C.avio_size(c.pb) > 0
}

// reorderDelay is how many pictures the codec holds back to put B-frames in order.
func reorderDelay(context *astiav.FormatContext, stream int) int {
	c := formatOf(context)
	return int(unsafe.Slice(c.streams, c.nb_streams)[stream].codecpar.video_delay)
}

// cameraClock is the camera's own time of a packet, which FFmpeg knows after the first RTCP sender report.
func cameraClock(p *astiav.Packet) time.Time {
	data := p.SideData(astiav.PacketSideDataType(C.AV_PKT_DATA_PRFT))
	if len(data) < 8 {
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.NativeEndian.Uint64(data))).UTC()
}

// scaler converts pixel formats with libswscale; it is kept from frame to frame. The zero value is ready.
type scaler struct{ c *C.struct_SwsContext }

// convert brings src into dst, whose format and buffers are set, by the given matrix.
func (s *scaler) convert(src, dst *astiav.Frame, space astiav.ColorSpace, full bool) error {
	coefficients := C.int(C.SWS_CS_ITU601)
	switch space {
	case astiav.ColorSpaceBt709:
		coefficients = C.SWS_CS_ITU709
	case astiav.ColorSpaceBt2020Ncl:
		coefficients = C.SWS_CS_BT2020
	}
	fullRange := C.int(0)
	if full {
		fullRange = 1
	}
	if code := C.maskstream_convert(&s.c, frameOf(src), frameOf(dst), coefficients, fullRange); code < 0 {
		return astiav.Error(code)
	}
	return nil
}

func (s *scaler) free() {
	C.sws_freeContext(s.c)
	s.c = nil
}
