package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// headSize is what stands before a record: its length and its checksum, little-endian, 4 bytes each.
const headSize = 8

// longest is a length that no record has: what claims more is damage.
const longest = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the length too, so that zeros, which a power cut may leave, are no record.
func checksum(head, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:4], castagnoli), castagnoli, data)
}

func recordSize(data []byte) int64 { return headSize + int64(len(data)) }

// segment is one file of records.
type segment struct {
	number uint64
	file   *os.File
	size   int64
	kept   int64 // records that are not acknowledged
}

// openSegment makes or takes up a segment, of which everything before from is acknowledged. Whole is false where it ended in
// anything but a record: that end is cut off.
func openSegment(path string, number uint64, from place) (_ *segment, whole bool, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, false, errors.Join(err, file.Close())
	}
	s := &segment{number: number, file: file, size: info.Size()}
	offset := int64(0)
	for offset < s.size {
		data, err := s.read(offset)
		if errors.Is(err, errDamaged) {
			break
		}
		if err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
		offset += recordSize(data)
		if number > from.segment || number == from.segment && offset > from.offset {
			s.kept++
		}
	}
	whole = offset == s.size
	if s.size = offset; !whole {
		if err := file.Truncate(offset); err != nil {
			return nil, false, errors.Join(err, file.Close())
		}
	}
	return s, whole, nil
}

// cut gives up everything from an offset on, where the disk returns no record, and says how many records that were; from is up to
// where they are acknowledged.
func (s *segment) cut(offset int64, from place) (lost int64, err error) {
	before := s.kept
	s.kept, s.size = 0, offset
	at := int64(0)
	if s.number == from.segment {
		at = from.offset
	}
	for at < offset {
		data, err := s.read(at)
		if err != nil {
			break // damaged as well: the next to read it cuts there
		}
		at += recordSize(data)
		s.kept++
	}
	return before - s.kept, s.file.Truncate(offset)
}

var errDamaged = errors.New("damaged record")

// append writes a record with one call, so that only a death in the middle of it leaves a part.
func (s *segment) append(data []byte) error {
	record := make([]byte, headSize, recordSize(data))
	binary.LittleEndian.PutUint32(record, uint32(len(data)))
	binary.LittleEndian.PutUint32(record[4:], checksum(record, data))
	if _, err := s.file.WriteAt(append(record, data...), s.size); err != nil {
		return errors.Join(err, s.file.Truncate(s.size))
	}
	s.size += recordSize(data)
	s.kept++
	return nil
}

// read returns the record that begins at an offset below size.
func (s *segment) read(offset int64) ([]byte, error) {
	var head [headSize]byte
	if _, err := s.file.ReadAt(head[:], offset); err != nil {
		return nil, s.readError(offset, err)
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > longest || offset+headSize+length > s.size {
		return nil, s.readError(offset, io.EOF)
	}
	data := make([]byte, length)
	if _, err := s.file.ReadAt(data, offset+headSize); err != nil {
		return nil, s.readError(offset, err)
	}
	if checksum(head[:], data) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, s.readError(offset, io.EOF)
	}
	return data, nil
}

func (s *segment) readError(offset int64, err error) error {
	if errors.Is(err, io.EOF) {
		err = errDamaged
	}
	return fmt.Errorf("%s at byte %d: %w", s.file.Name(), offset, err)
}

// readPlace is a place as a file holds it; the first of all where it holds none.
func readPlace(file *os.File) place {
	var b [20]byte
	if _, err := file.ReadAt(b[:], 0); err != nil || crc32.Checksum(b[:16], castagnoli) != binary.LittleEndian.Uint32(b[16:]) {
		return place{}
	}
	return place{binary.LittleEndian.Uint64(b[:]), int64(binary.LittleEndian.Uint64(b[8:]))}
}

func writePlace(file *os.File, p place) error {
	var b [20]byte
	binary.LittleEndian.PutUint64(b[:], p.segment)
	binary.LittleEndian.PutUint64(b[8:], uint64(p.offset))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	_, err := file.WriteAt(b[:], 0)
	return err
}
