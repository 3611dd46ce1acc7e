// Package rle holds COCO run-length masks, the arithmetic on their runs, and the messages they travel in. It imports nothing
// of this module, so that a subscriber written in Go needs nothing else:
//
//	var batch rle.Batch
//	json.Unmarshal(message.Data, &batch)
//	mask, err := rle.Parse(batch.Size[0], batch.Size[1], batch.Masks[0].Counts)
//	mask.Area(); mask.Box(); mask.Decode(pixels)
package rle

// Mask is a binary mask of Height×Width pixels as runs in column-major order, alternating 0 and 1 and starting with zeros
// (the first run may be 0 long). The runs add up to Height·Width. Canonical masks have no other empty run.
type Mask struct {
	Height, Width int
	Runs          []uint32
}

// ParseCOCO reads a mask as pycocotools writes it.
func ParseCOCO(c COCO) (Mask, error) { return Parse(c.Size[0], c.Size[1], c.Counts) }
func Parse(height, width int, counts string) (Mask, error) { panic("being written on branch rle") }
