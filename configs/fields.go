package configs

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"maskstream/internal/nearest"
)

// fieldOf finds a struct's field by its YAML key.
func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// keys are the YAML keys of a struct type.
func keys(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

// element is a list element before anything is read into it.
func element(t reflect.Type) reflect.Value {
	if t == reflect.TypeFor[Stream]() {
		return reflect.ValueOf(DefaultStream())
	}
	return reflect.Zero(t)
}

// scalarKind says whether a field takes one value.
func scalarKind(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	_, text := v.Interface().(encoding.TextMarshaler)
	return text
}

func setScalar(v reflect.Value, text string) error {
	switch field := v.Addr().Interface().(type) {
	case *Duration:
		d, err := parseDuration(text)
		*field = d
		return err
	case *Size:
		s, err := ParseSize(text)
		*field = s
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(text == "true")
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetFloat(f)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v.OverflowInt(n) {
			return fmt.Errorf("%q is no whole number", text)
		}
		v.SetInt(n)
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func orTop(path string) string {
	if path == "" {
		return "the configuration"
	}
	return path
}

// didYouMean names the nearest known word, or all of them where none is near.
func didYouMean(word string, known []string) string {
	lower := make([]string, len(known))
	for i, k := range known {
		lower[i] = strings.ToLower(k)
	}
	near := nearest.Name(strings.ToLower(word), lower)
	switch {
	case near != "":
		return fmt.Sprintf(": did you mean %q?", known[slices.Index(lower, near)])
	case len(known) > 20:
		return ""
	}
	return ": known are " + strings.Join(known, ", ")
}
