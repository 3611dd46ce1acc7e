package main

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"

	"maskstream/rle"
)

// readMaskPicture reads a PNG as a mask: what is not zero is set.
func readMaskPicture(path string) (rle.Mask, error) {
	file, err := os.Open(path)
	if err != nil {
		return rle.Mask{}, err
	}
	defer file.Close()
	// The head first: a picture of some bytes can claim more pixels than there is memory.
	var head bytes.Buffer
	size, err := png.DecodeConfig(io.TeeReader(file, &head))
	if err != nil {
		return rle.Mask{}, fmt.Errorf("%s: not a PNG that can be read: %w", path, err)
	}
	height, width := size.Height, size.Width
	if height*width > maxPicturePixels {
		return rle.Mask{}, fmt.Errorf("%s: %d×%d pixels are more than %d", path, width, height, maxPicturePixels)
	}
	picture, err := png.Decode(bufio.NewReader(io.MultiReader(&head, file)))
	if err != nil {
		return rle.Mask{}, fmt.Errorf("%s: not a PNG that can be read: %w", path, err)
	}
	return rle.FromBits(height, width, setPixels(picture)), nil
}

// setPixels is a byte per pixel, row after row, non-zero where the picture is.
func setPixels(picture image.Image) []byte {
	bounds := picture.Bounds()
	bits := make([]byte, 0, bounds.Dx()*bounds.Dy())
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		switch picture := picture.(type) {
		case *image.Gray:
			start := picture.PixOffset(bounds.Min.X, y)
			bits = append(bits, picture.Pix[start:start+bounds.Dx()]...)
		case *image.Paletted: // the index is the object's number, its colour is for looking at
			start := picture.PixOffset(bounds.Min.X, y)
			bits = append(bits, picture.Pix[start:start+bounds.Dx()]...)
		default:
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				bit := byte(0)
				if r, g, b, _ := picture.At(x, y).RGBA(); r|g|b != 0 { // 16 bits each, already times alpha
					bit = 1
				}
				bits = append(bits, bit)
			}
		}
	}
	return bits
}

// maxPicturePixels keeps what claims an absurd size from asking for as much memory: 16384×16384.
const maxPicturePixels = 1 << 28

// writeMaskPicture writes an 8-bit grey PNG, 255 where the mask is set.
func writeMaskPicture(path string, mask rle.Mask) error {
	if pixels := mask.Height * mask.Width; pixels == 0 || pixels > maxPicturePixels {
		return fmt.Errorf("%s: a mask of %d×%d pixels makes no picture: 1 to %d pixels do", path, mask.Height, mask.Width, maxPicturePixels)
	}
	picture := image.NewGray(image.Rect(0, 0, mask.Width, mask.Height))
	if err := mask.Decode(picture.Pix); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, bit := range picture.Pix {
		picture.Pix[i] = -bit // 0 or 255
	}
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, picture); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, buffer.Bytes(), 0o666)
}
