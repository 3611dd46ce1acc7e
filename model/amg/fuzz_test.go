package amg

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func FuzzParseOptions(f *testing.F) {
	for _, c := range optionTexts {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ParseOptions(text)
		if err != nil {
			if !errors.Is(err, ErrOptions) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		// What was read says the same when it is written and read again, and can be worked with.
		written, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseOptions(written); err != nil || !reflect.DeepEqual(again, o) {
			t.Errorf("%s is read as %+v, %v", written, again, err)
		}
		for _, c := range o.crops(64, 48) {
			if c.box[0] < 0 || c.box[1] < 0 || c.box[2] > 64 || c.box[3] > 48 || c.width() <= 0 || c.height() <= 0 {
				t.Fatalf("%s: crop %+v", text, c)
			}
			for _, p := range o.points(c) {
				if p[0] < 0 || p[1] < 0 || p[0] > 64 || p[1] > 48 {
					t.Fatalf("%s: point %v of crop %+v", text, p, c)
				}
			}
		}
	})
}
