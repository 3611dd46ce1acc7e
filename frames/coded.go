package frames

// Codec is how a coded picture is coded.
type Codec uint8

const (
	H264 Codec = iota // an access unit in Annex B form; a key one begins with its parameter sets
	VP8               // a frame
)

func (c Codec) String() string { return [...]string{"H.264", "VP8"}[c] }

// Coded is one coded picture. It is immutable.
type Coded struct {
	Codec Codec
	Key   bool // decodable without what came before
	Data  []byte
}
