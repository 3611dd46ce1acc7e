package ingest

import "bytes"

// NAL unit types of H.264 (ITU-T H.264, table 7-1).
const (
	nalIDR = 5
	nalSPS = 7
	nalPPS = 8
)

func nalType(nal []byte) byte { return nal[0] & 0x1f }

var startCode = []byte{0, 0, 1}

// appendNAL appends a NAL unit in Annex B form.
func appendNAL(b, nal []byte) []byte {
	return append(append(b, 0, 0, 0, 1), nal...)
}

// splitNALs are the NAL units of data, which has a length of lengthSize bytes before each, or start codes where that is 0. They
// share its memory; none is empty. What is cut off is left out.
func splitNALs(data []byte, lengthSize int) (nals [][]byte) {
	if lengthSize > 0 {
		for len(data) > lengthSize {
			n := 0
			for _, b := range data[:lengthSize] {
				n = n<<8 | int(b)
			}
			data = data[lengthSize:]
			if n < 0 || n > len(data) {
				return nals
			}
			if n > 0 {
				nals = append(nals, data[:n])
			}
			data = data[n:]
		}
		return nals
	}
	at := bytes.Index(data, startCode)
	for at >= 0 {
		data = data[at+len(startCode):]
		at = bytes.Index(data, startCode)
		nal := data
		if at >= 0 {
			nal = data[:at]
		}
		if nal = bytes.TrimRight(nal, "\x00"); len(nal) > 0 { // zeros before a start code belong to it
			nals = append(nals, nal)
		}
	}
	return nals
}

// avcSets are the parameter sets in an AVCDecoderConfigurationRecord (ISO/IEC 14496-15).
func avcSets(record []byte) (sets [][]byte) {
	if len(record) < 6 {
		return nil
	}
	rest := record[5:]
	for _, mask := range []byte{0x1f, 0xff} { // SPS, then PPS
		if len(rest) < 1 {
			return sets
		}
		n := rest[0] & mask
		rest = rest[1:]
		for range n {
			if len(rest) < 2 {
				return sets
			}
			size := int(rest[0])<<8 | int(rest[1])
			if rest = rest[2:]; size > len(rest) {
				return sets
			}
			if size > 0 {
				sets = append(sets, rest[:size])
			}
			rest = rest[size:]
		}
	}
	return sets
}
