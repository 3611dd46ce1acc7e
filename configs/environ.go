package configs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

const envPrefix = "TRACKER_"

// environ sets keys from TRACKER_… variables: upper case, _ between levels, a list index as a key. An index one past the end
// appends. A key that takes more than one value takes it as YAML, for example TRACKER_STREAMS_0_PROMPTS='[{box: [1,2,30,40]}]'.
func environ(env []string, config *Config, origins map[string]string) error {
	variables := map[string]string{}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, envPrefix) {
			variables[name] = value // the last of equal names counts, as in os/exec
		}
	}
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	slices.SortFunc(names, byPath)
	for _, name := range names {
		set := func(v reflect.Value, path string) error { return setVariable(name, variables[name], v, path, origins) }
		found, err := assign(reflect.ValueOf(config).Elem(), strings.TrimPrefix(name, envPrefix), "", set)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("environment variable %s sets no key%s", strings.ToValidUTF8(name, "?"), didYouMean(name, variableNames(config)))
		}
	}
	return nil
}

func setVariable(name, value string, v reflect.Value, path string, origins map[string]string) error {
	place := "environment variable " + name
	if scalarKind(v) {
		if err := setScalar(v, value); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	} else {
		asIs := func(text string) (string, error) { return text, nil }
		d := decoder{file: place, expand: asIs, origins: map[string]string{}, anchors: map[string]ast.Node{}}
		if err := d.document([]byte(value), v, path); err != nil {
			return err
		}
	}
	for below := range origins {
		if strings.HasPrefix(below, path+".") || strings.HasPrefix(below, path+"[") {
			delete(origins, below)
		}
	}
	origins[path] = place
	return nil
}

// assign walks down to the field that rest names and calls set on it. Keys hold _ themselves, so every key that fits is tried.
func assign(v reflect.Value, rest, path string, set func(reflect.Value, string) error) (bool, error) {
	if rest == "" {
		return true, set(v, path)
	}
	switch {
	case scalarKind(v):
		return false, nil
	case v.Kind() == reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		found, err := assign(fresh.Elem(), rest, path, set)
		if found {
			v.Set(fresh)
		}
		return found, err
	case v.Kind() == reflect.Struct:
		for _, key := range keys(v.Type()) {
			below, ok := cutKey(rest, strings.ToUpper(key))
			if !ok {
				continue
			}
			field, _ := fieldOf(v, key)
			if found, err := assign(field, below, join(path, key), set); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
	digits, below, _ := strings.Cut(rest, "_")
	index, err := strconv.Atoi(digits)
	if err != nil || index < 0 || index > v.Len() || v.Kind() == reflect.Array && index == v.Len() {
		return false, nil
	}
	path += "[" + digits + "]"
	if index < v.Len() {
		return assign(v.Index(index), below, path, set)
	}
	last := reflect.New(v.Type().Elem()).Elem()
	last.Set(element(v.Type().Elem()))
	found, err := assign(last, below, path, set)
	if found && err == nil {
		v.Set(reflect.Append(v, last))
	}
	return found, err
}

func cutKey(rest, key string) (below string, ok bool) {
	if rest == key {
		return "", true
	}
	return strings.CutPrefix(rest, key+"_")
}

// byPath puts a whole list before its elements, and element 2 before element 10: appending needs that order.
func byPath(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "_"), strings.Split(b, "_"), func(a, b string) int {
		m, errA := strconv.Atoi(a)
		n, errB := strconv.Atoi(b)
		if errA == nil && errB == nil {
			return cmp.Compare(m, n)
		}
		return strings.Compare(a, b)
	})
}

// variableNames lists what can be set on this configuration, for "did you mean".
func variableNames(config *Config) []string {
	var names []string
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		names = append(names, name)
		switch {
		case scalarKind(v):
		case v.Kind() == reflect.Struct:
			for _, key := range keys(v.Type()) {
				field, _ := fieldOf(v, key)
				walk(field, name+"_"+strings.ToUpper(key))
			}
		case v.Kind() == reflect.Slice:
			for i := range v.Len() + 1 {
				item := element(v.Type().Elem())
				if i < v.Len() {
					item = v.Index(i)
				}
				walk(item, name+"_"+strconv.Itoa(i))
			}
		}
	}
	walk(reflect.ValueOf(config).Elem(), strings.TrimSuffix(envPrefix, "_"))
	return names[1:]
}
