package checkpoint

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxStorage bounds one tensor's bytes; the largest of an official checkpoint has 27 MB.
const maxStorage = 16 << 30

// readTorch reads what torch.save writes since PyTorch 1.6: a zip with NAME/data.pkl, which describes the object and names
// its storages, and NAME/data/KEY, their bytes. Members are stored by PyTorch and may also be deflated.
func readTorch(r io.ReaderAt, size int64) (map[string]entry, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: a zip cut short or altered (%w); download it again", ErrDamaged, err)
	}
	members, root, err := index(archive)
	if err != nil {
		return nil, err
	}
	if order, ok := members[root+"byteorder"]; ok {
		if text, err := order.all(16); err != nil {
			return nil, err
		} else if string(text) != "little" {
			return nil, fmt.Errorf("%w: its byte order is %q; save it on a little-endian machine", ErrFormat, text)
		}
	}
	pickle, err := members[root+"data.pkl"].all(maxPickle)
	if err != nil {
		return nil, err
	}
	object, err := unpickle(pickle)
	if err != nil {
		return nil, err
	}
	state, err := stateDict(object)
	if err != nil {
		return nil, err
	}
	return locate(state, members, root)
}

// index lists the archive's members and finds the folder that data.pkl lies in.
func index(archive *zip.Reader) (members map[string]member, root string, err error) {
	members = make(map[string]member, len(archive.File))
	found := 0
	for _, file := range archive.File {
		if _, twice := members[file.Name]; twice {
			return nil, "", fmt.Errorf("%w: %q is there twice", ErrDamaged, file.Name)
		}
		members[file.Name] = member{file}
		if folder, ok := strings.CutSuffix(file.Name, "data.pkl"); ok && strings.Count(folder, "/") == 1 && strings.HasSuffix(folder, "/") {
			root = folder
			found++
		}
	}
	if found != 1 {
		return nil, "", fmt.Errorf("%w: a zip without a data.pkl of PyTorch's; if the checkpoint is inside, unpack it", ErrFormat)
	}
	if _, ok := members[root+"constants.pkl"]; ok {
		return nil, "", fmt.Errorf("%w: a TorchScript program; in Python save model.state_dict()", ErrFormat)
	}
	return members, root, nil
}

// stateDict finds the dict of tensors: the object itself, or what it has under "model" or "state_dict".
func stateDict(object any) (map[string]tensorRef, error) {
	top, ok := object.(*dict)
	if !ok {
		return nil, fmt.Errorf("%w: it holds no dict of tensors; in Python save model.state_dict()", ErrFormat)
	}
	for _, key := range []string{"model", "state_dict"} {
		if inner, ok := top.get(key).(*dict); ok {
			top = inner
			break
		}
	}
	tensors := make(map[string]tensorRef, len(top.keys))
	for i, key := range top.keys {
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("%w: its dict has keys that are no names; in Python save model.state_dict()", ErrFormat)
		}
		t, ok := top.values[i].(tensorRef)
		if !ok {
			return nil, fmt.Errorf("%w: its entry %.80q is no tensor; in Python save model.state_dict()", ErrFormat, name)
		}
		tensors[name] = t
	}
	if len(tensors) == 0 {
		return nil, fmt.Errorf("%w: it holds no tensors", ErrFormat)
	}
	return tensors, nil
}

func (d *dict) get(key string) any {
	for i := len(d.keys) - 1; i >= 0; i-- {
		if d.keys[i] == key {
			return d.values[i]
		}
	}
	return nil
}

// locate finds each tensor's bytes and checks that they are there.
func locate(state map[string]tensorRef, members map[string]member, root string) (map[string]entry, error) {
	tensors := make(map[string]entry, len(state))
	for name, t := range state {
		storage, ok := members[root+"data/"+t.storage.key]
		if !ok {
			return nil, fmt.Errorf("tensor %q: %w: its storage %q is not in the file", name, ErrDamaged, t.storage.key)
		}
		size := int64(t.storage.dtype.size())
		if err := storage.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if t.storage.count != storage.size()/size || storage.size()%size != 0 {
			return nil, fmt.Errorf("tensor %q: %w: its storage should have %d elements of %d bytes and has %d bytes",
				name, ErrDamaged, t.storage.count, size, storage.size())
		}
		if t.offset < 0 || t.offset > t.storage.count {
			return nil, fmt.Errorf("tensor %q: %w: it begins at element %d of %d", name, ErrDamaged, t.offset, t.storage.count)
		}
		e := entry{dtype: t.storage.dtype, shape: t.shape, strides: t.strides, offset: t.offset * size, storage: storage}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors[name] = e
	}
	return tensors, nil
}

// member is a storage that is a file inside the zip.
type member struct{ file *zip.File }

// check refuses sizes that cannot be true before memory is asked for.
func (m member) check() error {
	packed, plain := m.file.CompressedSize64, m.file.UncompressedSize64
	switch {
	case plain > maxStorage:
		return fmt.Errorf("%w: its storage is said to have %d bytes", ErrDamaged, plain)
	case m.file.Method == zip.Store && packed != plain,
		m.file.Method == zip.Deflate && plain > (packed+1)*1032: // no byte of deflate stands for more
		return fmt.Errorf("%w: its storage is said to have %d bytes out of %d", ErrDamaged, plain, packed)
	}
	return nil
}

func (m member) size() int64 { return int64(m.file.UncompressedSize64) }

// all reads the member if it has at most limit bytes. The zip's checksum is compared on the way.
func (m member) all(limit int64) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", m.file.Name, err)
	}
	if m.size() > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than %d", ErrDamaged, m.file.Name, m.size(), limit)
	}
	return m.read(0, m.size())
}

func (m member) read(offset, n int64) ([]byte, error) {
	reader, err := m.file.Open()
	if err != nil {
		return nil, m.damaged(err)
	}
	defer reader.Close()
	if _, err := io.CopyN(io.Discard, reader, offset); err != nil {
		return nil, m.damaged(err)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(reader, data); err != nil {
		return nil, m.damaged(err)
	}
	if _, err := io.Copy(io.Discard, reader); err != nil { // the checksum is compared at the end
		return nil, m.damaged(err)
	}
	return data, nil
}

func (m member) damaged(err error) error {
	if errors.Is(err, zip.ErrChecksum) {
		return fmt.Errorf("%w: %s has another checksum than when it was written; download it again", ErrDamaged, m.file.Name)
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, m.file.Name, err)
}
