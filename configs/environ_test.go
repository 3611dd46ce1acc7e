package configs

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestEveryKeyIsSetFromTheEnvironment walks over all keys there are: each takes a value from its variable, and shows it.
func TestEveryKeyIsSetFromTheEnvironment(t *testing.T) {
	config := Default()
	stream := DefaultStream()
	stream.Prompts = []Prompt{{Mask: &Mask{}}}
	config.Streams = []Stream{stream}
	config.HTTP.AllowOrigins, config.WebRTC.AdditionalHosts = []string{""}, []string{""}
	tried := 0
	var walk func(at func() reflect.Value, name string) // at: a pointer is another after its variable was set
	walk = func(at func() reflect.Value, name string) {
		v := at()
		show := func() string {
			if secret, ok := at().Interface().(Secret); ok {
				return string(secret)
			}
			return fmt.Sprintf("%#v", at().Interface())
		}
		switch {
		case scalarKind(v):
			before := show()
			value := map[reflect.Kind]string{reflect.String: "other", reflect.Bool: "true", reflect.Int: "17", reflect.Int64: "3h", reflect.Float64: "1.5"}[v.Kind()]
			switch {
			case v.Kind() == reflect.Bool && v.Bool():
				value = "false"
			case v.Type() == reflect.TypeFor[Size]():
				value = "17MiB"
			}
			if err := environ([]string{name + "=" + value}, config, map[string]string{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if show() == before {
				t.Errorf("%s changes nothing", name)
			}
			tried++
		case v.Kind() == reflect.Pointer:
			walk(func() reflect.Value { return at().Elem() }, name)
		case v.Kind() == reflect.Struct:
			for _, key := range keys(v.Type()) {
				walk(func() reflect.Value { field, _ := fieldOf(at(), key); return field }, name+"_"+strings.ToUpper(key))
			}
		case v.Kind() == reflect.Array || v.Len() > 0:
			walk(func() reflect.Value { return at().Index(0) }, name+"_0")
		}
	}
	walk(reflect.ValueOf(config).Elem, "TRACKER")
	if tried < 40 {
		t.Errorf("%d keys only", tried)
	}
}
