package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

type part struct{ name, content string }

// archive zips the members, stored.
func archive(members ...part) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(m.content))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// torchFile is a .pt file around a pickle, with one storage "0" of 24 bytes.
func torchFile(pickle string) string {
	return archive(part{"m/data.pkl", pickle}, part{"m/byteorder", "little"}, part{"m/data/0", strings.Repeat("\x00", 24)})
}

// stateDictOf is the pickle {"w": tensor} with the tensor's arguments as given.
func stateDictOf(storageType string, count int, arguments string) string {
	return "\x80\x02}" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storageType + "\n" + text("0") +
		text("cpu") + number(count) + "tQ" + arguments + "\x89NtRs."
}

func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}
func number(n int) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}
func numbers(list ...int) string {
	b := "("
	for _, n := range list {
		b += number(n)
	}
	return b + "t"
}

// pickles are what a data.pkl may try, and what it is answered.
var pickles = []struct {
	name, pickle string
	is           error
	says         string
}{
	{"a plain tensor", stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(3, 1)), nil, ""},
	{"a transposed tensor", stateDictOf("FloatStorage", 6, "K\x00"+numbers(3, 2)+numbers(1, 3)), nil, ""},

	{"os.system", "\x80\x02cos\nsystem\n" + text("touch /tmp/owned") + "\x85R.", ErrUnsafe, `"os.system"`},
	{"os.system by the newer opcode", "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.", ErrUnsafe, `"os.system"`},
	{"builtins.eval", "\x80\x02c__builtin__\neval\n" + text("1") + "\x85R.", ErrUnsafe, `"__builtin__.eval"`},
	{"a dotted name under an allowed module", "\x80\x04\x8c\x05torch\x8c\x11storage.os.system\x93.", ErrUnsafe, "storage.os.system"},
	{"an object made by INST", "\x80\x02(ios\nsystem\n.", ErrUnsafe, "0x69"},
	{"an object made by NEWOBJ", "\x80\x02ccollections\nOrderedDict\n)\x81.", ErrUnsafe, "0x81"},
	{"an extension code", "\x80\x02\x82\x01.", ErrUnsafe, "0x82"},
	{"an OrderedDict called with arguments", "\x80\x02ccollections\nOrderedDict\n]\x85R.", ErrUnsafe, "OrderedDict"},
	{"a storage type called", "\x80\x02ctorch\nFloatStorage\n)R.", ErrUnsafe, "no function"},
	{"a string called", "\x80\x02" + text("os.system") + ")R.", ErrUnsafe, "no function"},
	{"attributes on a list", "\x80\x02]}b.", ErrUnsafe, "attributes"},
	{"a persistent id that is a path", "\x80\x02" + text("/etc/passwd") + "Q.", ErrUnsafe, "persistent id"},
	{"a number of 200 digits", "\x80\x02\x8a\x50" + strings.Repeat("\x01", 80) + ".", ErrUnsafe, "80 bytes"},
	{"protocol 0", "(dp0\n.", ErrUnsafe, "0x64"},
	{"protocol 9", "\x80\x09N.", ErrFormat, "protocol 9"},

	{"nothing", "", ErrDamaged, "ends early"},
	{"no end", "\x80\x02}", ErrDamaged, "ends early"},
	{"an end without a value", "\x80\x02.", ErrDamaged, "missing"},
	{"a mark as the value", "\x80\x02(.", ErrDamaged, "missing"},
	{"a string longer than the file", "\x80\x02X\xff\xff\xff\xffx.", ErrDamaged, "ends early"},
	{"a string of 2⁶³ bytes", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", ErrDamaged, "ends early"},
	{"a value never stored", "\x80\x02h\x05.", ErrDamaged, "never stored"},
	{"a key without a value", "\x80\x02}(Nu.", ErrDamaged, "key without"},
	{"items for no list", "\x80\x02N(Ne.", ErrDamaged, "container"},
	{"two million values", "\x80\x02" + strings.Repeat("N", 2<<20) + ".", ErrDamaged, "too large"},
	{"a memo of two million", "\x80\x02N" + strings.Repeat("\x94", 2<<20) + ".", ErrDamaged, "too large"},
	{"marks within marks", "\x80\x02" + strings.Repeat("(", 2<<20) + ".", ErrDamaged, "too large"},
	{"dicts within dicts", "\x80\x02" + strings.Repeat("}", 2<<20) + ".", ErrDamaged, "too large"},
	{"a tuple of itself twice, forty deep", "\x80\x02)q\x00" + strings.Repeat("h\x00h\x00\x86q\x00", 40) + ".", ErrFormat, "no dict"},
	{"the same as a key", "\x80\x02})q\x000" + strings.Repeat("h\x00h\x00\x86q\x000", 40) + "h\x00Ns.", ErrFormat, "no names"},
	{"a dict that holds itself", "\x80\x02}q\x00" + text("model") + "h\x00s.", ErrFormat, `"model" is no tensor`},

	{"no dict", "\x80\x02N.", ErrFormat, "state_dict"},
	{"an empty dict", "\x80\x02}.", ErrFormat, "no tensors"},
	{"a number among the tensors", "\x80\x02}" + text("w") + "K\x01s.", ErrFormat, `"w" is no tensor`},

	{"a storage of another size", stateDictOf("FloatStorage", 7, "K\x00"+numbers(2, 3)+numbers(3, 1)), ErrDamaged, `"w"`},
	{"a storage of another type", stateDictOf("HalfStorage", 6, "K\x00"+numbers(2, 3)+numbers(3, 1)), ErrDamaged, `"w"`},
	{"a storage of a negative size", stateDictOf("FloatStorage", -6, "K\x00"+numbers(2, 3)+numbers(3, 1)), ErrDamaged, "storage"},
	{"a storage type of no size", stateDictOf("ComplexFloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(3, 1)), ErrUnsafe, "ComplexFloatStorage"},
	{"more elements than the storage has", stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 4)+numbers(4, 1)), ErrDamaged, `"w"`},
	{"10¹⁸ elements", stateDictOf("FloatStorage", 6, "K\x00"+numbers(1e9, 1e9)+numbers(0, 0)), ErrDamaged, `"w"`},
	{"10³⁶ elements", stateDictOf("FloatStorage", 6, "K\x00"+numbers(1e18, 1e18)+numbers(0, 0)), ErrDamaged, "shape"},
	{"a broadcast of one element", stateDictOf("FloatStorage", 6, "K\x00"+numbers(100, 100)+numbers(0, 0)), ErrDamaged, `"w"`},
	{"a negative dimension", stateDictOf("FloatStorage", 6, "K\x00"+numbers(-1)+numbers(1)), ErrDamaged, "shape"},
	{"a stride out of the storage", stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(4, 1)), ErrDamaged, "strides"},
	{"a stride that overflows", stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(1<<62, 1)), ErrDamaged, "stride"},
	{"a negative stride", stateDictOf("FloatStorage", 6, "K\x05"+numbers(3)+numbers(-1)), ErrDamaged, `"w"`},
	{"a stride too few", stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(1)), ErrDamaged, "dimensions"},
	{"an offset out of the storage", stateDictOf("FloatStorage", 6, "K\x07"+numbers(0)+numbers(1)), ErrDamaged, "element 7"},
	{"an offset that overflows", stateDictOf("FloatStorage", 6, number(1<<62)+numbers(1)+numbers(1)), ErrDamaged, "element"},
	{"a negative offset", stateDictOf("FloatStorage", 6, number(-1)+numbers(1)+numbers(1)), ErrDamaged, "element -1"},
	{"a shape of strings", stateDictOf("FloatStorage", 6, "K\x00("+text("2")+"t"+numbers(1)), ErrDamaged, "size"},
	{"a tensor without its storage", "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(NK\x00))\x89NtR.", ErrDamaged, "storage"},
	{"a tensor without arguments", "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.", ErrDamaged, "0 arguments"},
	{"a parameter without its tensor", "\x80\x02ctorch._utils\n_rebuild_parameter\n(N\x88NtR.", ErrDamaged, "parameter"},
}

func TestAPickleCanMakeNothingButTensors(t *testing.T) {
	for _, c := range pickles {
		answered(t, c.name, torchFile(c.pickle), c.is, c.says)
	}
}

// bomb is an archive in which a few bytes stand for size zeros.
func bomb(name string, size int64, others ...part) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range append(others, part{name, ""}) {
		f, err := w.Create(m.name)
		if err == nil && m.name != name {
			_, err = f.Write([]byte(m.content))
		}
		for left := size; err == nil && m.name == name && left > 0; left -= 1 << 20 {
			_, err = f.Write(make([]byte, 1<<20))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// gappy is a tensor of two elements, the first and the last of a storage of as many as given, packed.
func gappy(elements int) string {
	pickle := stateDictOf("FloatStorage", elements, "K\x00"+numbers(2)+numbers(elements-1))
	return bomb("m/data/0", 4*int64(elements), part{"m/data.pkl", pickle})
}

// zips are whole .pt files that lie.
func zips() []struct {
	name, content string
	is            error
	says          string
} {
	good := stateDictOf("FloatStorage", 6, "K\x00"+numbers(2, 3)+numbers(3, 1))
	whole := torchFile(good)
	type hostile = struct {
		name, content string
		is            error
		says          string
	}
	patched := func(at int, value string) string { return whole[:at] + value + whole[at+len(value):] }
	directory := strings.LastIndex(whole, "PK\x01\x02") // of m/data/0, the last member
	data := strings.Index(whole, "m/data/0") + len("m/data/0")
	return []hostile{
		{"the whole file", whole, nil, ""},
		{"cut in half", whole[:len(whole)/2], ErrDamaged, "download it again"},
		{"cut by a byte", whole[:len(whole)-1], ErrDamaged, "download it again"},
		{"without its first bytes", "PK\x03\x04" + whole[100:], ErrDamaged, ""},
		{"big-endian", archive(part{"m/data.pkl", good}, part{"m/byteorder", "big"}, part{"m/data/0", strings.Repeat("\x00", 24)}), ErrFormat, "byte order"},
		{"without the storage", archive(part{"m/data.pkl", good}), ErrDamaged, `storage "0" is not in the file`},
		{"a storage cut short", archive(part{"m/data.pkl", good}, part{"m/data/0", "short"}), ErrDamaged, `"w"`},
		{"a member twice", archive(part{"m/data.pkl", good}, part{"m/data.pkl", good}), ErrDamaged, "twice"},
		{"two models", archive(part{"m/data.pkl", good}, part{"n/data.pkl", good}), ErrFormat, "data.pkl"},
		{"a storage said to have 4 GB", patched(directory+24, "\xf0\xff\xff\xff"), ErrDamaged, `"w"`},
		{"a byte of the storage flipped", patched(data+3, "\x01"), ErrDamaged, "checksum"},
		{"a bomb for a pickle", bomb("m/data.pkl", 32<<20), ErrDamaged, "m/data.pkl has 33554432 bytes, more than"},
		{"a bomb for a storage", bomb("m/data/0", 32<<20, part{"m/data.pkl", good}), ErrDamaged, `"w"`},
		{"names that climb out of the folder, which nothing is unpacked to", archive(part{"m/data.pkl", good}, part{"m/data/0", strings.Repeat("\x00", 24)}, part{"../../etc/passwd", "x"}), nil, ""},
		{"a member where another lies", patched(directory+42, "\x00\x00\x00\x00"), ErrDamaged, "m/data/0"},
		{"a view over all of a large storage", gappy(4 << 20), ErrFormat, "in Python save contiguous tensors"},
		{"an unknown compression", patched(directory+10, "\x0e\x00"), ErrDamaged, ""},
	}
}

func TestAZipThatLiesIsOneError(t *testing.T) {
	for _, c := range zips() {
		answered(t, c.name, c.content, c.is, c.says)
	}
}

func safetensorsFile(header string, body int) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("\x00", body)
}

var headers = []struct {
	name, content string
	is            error
	says          string
}{
	{"a plain tensor", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), nil, ""},
	{"no tensors", safetensorsFile(`{}`, 0), nil, ""},
	{"a header of 10¹² bytes", "\x00\x10\xa5\xd4\xe8\x00\x00\x00{}", ErrDamaged, "download it again"},
	{"a header longer than the file", "\x40\x00\x00\x00\x00\x00\x00\x00{}", ErrDamaged, "download it again"},
	{"a header cut short", safetensorsFile(`{"w":{"dtype":`, 0), ErrDamaged, ""},
	{"a tensor cut short", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7), ErrDamaged, `"w"`},
	{"bytes that belong to nobody", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9), ErrDamaged, "1 bytes belong"},
	{"bytes before the first tensor", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), ErrDamaged, "belong"},
	{"a gap", safetensorsFile(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), ErrDamaged, `"w"`},
	{"an overlap", safetensorsFile(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), ErrDamaged, `"w"`},
	{"the same name twice", safetensorsFile(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), ErrDamaged, "twice"},
	{"10¹⁸ elements", safetensorsFile(`{"w":{"dtype":"F32","shape":[1000000000,1000000000],"data_offsets":[0,8]}}`, 8), ErrDamaged, `"w"`},
	{"10³⁶ elements", safetensorsFile(`{"w":{"dtype":"F32","shape":[1000000000000000000,1000000000000000000],"data_offsets":[0,8]}}`, 8), ErrDamaged, `"w"`},
	{"a length that overflows to the right one", safetensorsFile(`{"w":{"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]}}`, 8), ErrDamaged, `"w"`},
	{"a negative dimension", safetensorsFile(`{"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8), ErrDamaged, "shape"},
	{"offsets the wrong way", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), ErrDamaged, `"w"`},
	{"negative offsets", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8), ErrDamaged, `"w"`},
	{"one offset", safetensorsFile(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8), ErrDamaged, `"w"`},
	{"an unknown type", safetensorsFile(`{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}`, 1), ErrDType, `"F4"`},
	{"forty dimensions", safetensorsFile(`{"w":{"dtype":"U8","shape":[`+strings.Repeat("1,", 39)+`1],"data_offsets":[0,1]}}`, 1), ErrDamaged, "40 dimensions"},
	{"a tensor that is a list", safetensorsFile(`{"w":[]}`, 0), ErrDamaged, `"w"`},
	{"metadata that is no text", safetensorsFile(`{"__metadata__":{"a":{}}}`, 0), ErrDamaged, "__metadata__"},
}

func TestASafetensorsHeaderThatLiesIsOneError(t *testing.T) {
	for _, c := range headers {
		answered(t, c.name, c.content, c.is, c.says)
	}
}

// answered reads the whole file and compares the first error with what is wanted.
func answered(t *testing.T, name, content string, is error, says string) {
	t.Helper()
	err := readAll(content)
	if !errors.Is(err, is) || err != nil && (!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "m.pt")) {
		t.Errorf("%s: %v; want %v that says %q", name, err, is, says)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: more than one line: %v", name, err)
	}
}

func readAll(content string) error {
	c, err := Read(strings.NewReader(content), int64(len(content)), "m.pt")
	if err != nil {
		return err
	}
	for _, name := range c.Names() {
		if _, err := c.Float32s(name); err != nil && !errors.Is(err, ErrDType) {
			return err
		}
	}
	return nil
}

func TestALieAboutSizesCostsNoMemory(t *testing.T) {
	archives := zips()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for _, c := range pickles {
		if !strings.Contains(c.name, "million") {
			_ = readAll(torchFile(c.pickle))
			n++
		}
	}
	for _, c := range archives {
		_ = readAll(c.content)
		n++
	}
	for _, c := range headers {
		_ = readAll(c.content)
		n++
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(n); each > 1<<20 {
		t.Errorf("%d bytes asked for per file", each)
	}
}

// orderly fails on errors that a caller could not branch on.
func orderly(t *testing.T, err error) {
	for _, known := range []error{nil, ErrFormat, ErrDamaged, ErrUnsafe, ErrDType} {
		if errors.Is(err, known) {
			return
		}
	}
	t.Errorf("an error of no kind: %v", err)
}

func FuzzPickle(f *testing.F) {
	for _, c := range pickles {
		if len(c.pickle) < 4096 {
			f.Add([]byte(c.pickle))
		}
	}
	f.Fuzz(func(t *testing.T, pickle []byte) { orderly(t, readAll(torchFile(string(pickle)))) })
}

func FuzzSafetensors(f *testing.F) {
	for _, c := range headers {
		f.Add([]byte(c.content))
	}
	f.Fuzz(func(t *testing.T, content []byte) { orderly(t, readAll(string(content))) })
}

func FuzzZip(f *testing.F) {
	for _, c := range zips() {
		if len(c.content) < 4096 {
			f.Add([]byte(c.content))
		}
	}
	for _, name := range []string{"deflated.pt", "views.pt", "protocol4.pt", "mixed.safetensors"} {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(fmt.Errorf("seed: %w", err))
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) { orderly(t, readAll(string(content))) })
}
