package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"maskstream/internal/userfile"
)

// decoder fills a Config from a YAML syntax tree. It walks the tree itself, because it needs the place of every key and
// value for later errors, and what a ${VAR} may become depends on the field it stands in.
type decoder struct {
	file    string            // named in errors
	expand  expander          // ${VAR}
	origins map[string]string // where each key was set: "nats.batch.count" → "tracker.yaml:12:9"
	anchors map[string]ast.Node
}

// document decodes one YAML document into v, which stands at path.
func (d *decoder) document(text []byte, v reflect.Value, path string) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%s: it is not UTF-8: save it as that", d.file)
	}
	if line, column, err := userfile.CheckYAML(text); err != nil {
		return fmt.Errorf("%s:%d:%d: %w", d.file, line, column, err)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return d.syntax(err)
	}
	for i, doc := range file.Docs {
		if i > 0 && doc.Body != nil {
			return fmt.Errorf("%s: a second YAML document: put everything into one", d.place(doc.Body))
		}
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if err := d.value(doc.Body, v, path); err != nil {
			return err
		}
	}
	return nil
}

// syntax brings the parser's error into our one-line form.
func (d *decoder) syntax(err error) error {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return fmt.Errorf("%s: no YAML: %w", d.file, err)
	}
	p := located.GetToken().Position
	return fmt.Errorf("%s:%d:%d: no YAML: %s", d.file, p.Line, p.Column, userfile.PlainYAML(located.GetMessage()))
}

func (d *decoder) place(node ast.Node) string {
	if d.file == request {
		return d.file
	}
	p := node.GetToken().Position
	return fmt.Sprintf("%s:%d:%d", d.file, p.Line, p.Column)
}

func (d *decoder) value(node ast.Node, v reflect.Value, path string) error {
	switch n := node.(type) {
	case *ast.AnchorNode:
		if err := d.value(n.Value, v, path); err != nil {
			return err
		}
		d.anchors[n.Name.GetToken().Value] = n.Value // only now, so that it cannot hold itself
		return nil
	case *ast.AliasNode:
		target, ok := d.anchors[n.Value.GetToken().Value]
		if !ok {
			return fmt.Errorf("%s: a * refers to an anchor, and there is none of this name before: put text that begins with * in quotes", d.place(node))
		}
		return d.value(target, v, path)
	case *ast.TagNode:
		return fmt.Errorf("%s: tags (!…) have no meaning here: put text that begins with ! in quotes", d.place(node))
	case *ast.NullNode:
		d.origins[path] = d.place(node)
		return nil // the default stays
	}
	d.origins[path] = d.place(node)
	if scalarKind(v) {
		text, err := d.scalar(node, path)
		if err != nil {
			return err
		}
		if err := setScalar(v, text); err != nil {
			return fmt.Errorf("%s: %s: %w", d.place(node), path, err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if err := d.value(node, fresh.Elem(), path); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	case reflect.Struct:
		return d.mapping(node, v, path)
	default:
		return d.sequence(node, v, path)
	}
}

func (d *decoder) scalar(node ast.Node, path string) (string, error) {
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return "", fmt.Errorf("%s: %s takes one value, not a list or a mapping", d.place(node), path)
	default:
		text = n.GetToken().Value // as written: a password 0123 keeps its zero
	}
	text, err := d.expand(text)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", d.place(node), path, err)
	}
	return text, nil
}

func (d *decoder) mapping(node ast.Node, v reflect.Value, path string) error {
	var pairs []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return fmt.Errorf("%s: %s takes keys: %s", d.place(node), orTop(path), strings.Join(keys(v.Type()), ", "))
	}
	for _, pair := range pairs {
		if pair.Key.IsMergeKey() {
			if err := d.value(pair.Value, v, path); err != nil {
				return err
			}
			continue
		}
		key := pair.Key.GetToken().Value
		field, ok := fieldOf(v, key)
		if !ok {
			return fmt.Errorf("%s: unknown key %q in %s%s", d.place(pair.Key), key, orTop(path), didYouMean(key, keys(v.Type())))
		}
		if err := d.value(pair.Value, field, join(path, key)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) sequence(node ast.Node, v reflect.Value, path string) error {
	n, ok := node.(*ast.SequenceNode)
	if !ok {
		return fmt.Errorf("%s: %s takes a list: [a, b] or lines that start with a dash", d.place(node), path)
	}
	if v.Kind() == reflect.Array {
		if len(n.Values) != v.Len() {
			return fmt.Errorf("%s: %s takes %d values, here are %d", d.place(node), path, v.Len(), len(n.Values))
		}
	} else {
		v.Set(reflect.MakeSlice(v.Type(), 0, len(n.Values)))
	}
	for i, item := range n.Values {
		if v.Kind() == reflect.Slice {
			v.Set(reflect.Append(v, element(v.Type().Elem())))
		}
		if err := d.value(item, v.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}
