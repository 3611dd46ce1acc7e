package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// recognise tells the format by the first bytes. What is no checkpoint gets an error that says what it is instead, since the
// usual mistakes are a download that is a web page and a clone without its large files.
func recognise(r io.ReaderAt, size int64) (Format, error) {
	if size == 0 {
		return "", fmt.Errorf("%w: the file is empty; download it again", ErrFormat)
	}
	head := make([]byte, min(size, 512))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return PyTorch, nil
	case len(head) > 9 && head[8] == '{' && binary.LittleEndian.Uint64(head) < 1<<40: // no text: its eighth byte would not be 0
		return Safetensors, nil
	case bytes.HasPrefix(text, []byte("version https://git-lfs.")):
		return "", fmt.Errorf("%w: it is a Git LFS pointer, not the file itself; run \"git lfs pull\"", ErrFormat)
	case bytes.HasPrefix(text, []byte("<")):
		return "", fmt.Errorf("%w: it is a web page saved under a model's name; download it again from the file's direct link", ErrFormat)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "", fmt.Errorf("%w: it is gzip-compressed; unpack it first", ErrFormat)
	case len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5:
		return "", fmt.Errorf("%w: it is a bare pickle, the form of PyTorch before 1.6; load it there and save it again with torch.save", ErrFormat)
	}
	return "", fmt.Errorf("%w: neither a PyTorch .pt nor a .safetensors file", ErrFormat)
}
