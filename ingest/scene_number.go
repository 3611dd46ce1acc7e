package ingest

// A numbered scene shows each picture's number, so that whoever sees it, through any coding, can say which it is: along the lower
// edge lie 16 blocks, a sixteenth of the width each and a twentieth of the height. From the left they are white, black, the number's
// lower 12 bits from the highest on (white is 1), a block that makes the number of white ones among bits and itself even, and black.
const (
	numberBlocks = 16
	numberBits   = 12
)

func (s *TestScene) paintNumber(frame int, rgb []byte) {
	var white [numberBlocks]bool
	white[0] = true
	for bit := range numberBits {
		one := frame>>(numberBits-1-bit)&1 == 1
		white[2+bit] = one
		white[numberBlocks-2] = white[numberBlocks-2] != one
	}
	for y := s.Height - s.Height/20; y < s.Height; y++ {
		row := rgb[3*s.Width*y:][:3*s.Width]
		for x := range s.Width {
			v := byte(16)
			if white[x*numberBlocks/s.Width] {
				v = 235
			}
			row[3*x], row[3*x+1], row[3*x+2] = v, v, v
		}
	}
}
