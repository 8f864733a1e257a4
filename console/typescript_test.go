package console_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/console"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/ops/capacity"
)

// answers have the types of the API's bodies and events.
var answers = []any{
	console.Session{},
	console.Login{},
	console.Problem{},
	console.Hosts{},
	console.HostsChange{},
	console.Outage{},
	console.Host{},
	console.Holding{},
	console.Found{},
	console.Explained{},
	console.Headroom{},
	capacity.Plan{},
	console.Findings{},
	console.Traffic{},
	console.FlavorSlots{},
	console.Choices{},
	console.Servers{},
}

// TestTypes compares the types that the pages have of the API's answers with those that Go has.
// -update writes them; make console builds the pages with them.
func TestTypes(t *testing.T) {
	text, err := typescript(answers)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "src/api.gen.ts", text)
}

// typescript returns the interfaces of structs, and of all that they have in them, as encoding/json
// writes them. A struct of package console keeps its name; one of another package has that of its
// package before it: records.Provider is RecordsProvider.
func typescript(values []any) (string, error) {
	var p typePrinter
	for _, value := range values {
		p.name(reflect.TypeOf(value))
	}
	p.text.WriteString("// The bodies and events of the console's API. Written by\n" +
		"// go test ./console -run TestTypes -update; do not edit.\n")
	for i := 0; i < len(p.structs); i++ { // printing adds to it
		if err := p.print(p.structs[i]); err != nil {
			return "", err
		}
	}
	return p.text.String(), nil
}

// A typePrinter writes interfaces of TypeScript.
type typePrinter struct {
	text    strings.Builder
	structs []reflect.Type // that are named in the text
}

// name returns the name of a struct, which will be printed.
func (p *typePrinter) name(s reflect.Type) string {
	if !slices.Contains(p.structs, s) {
		p.structs = append(p.structs, s)
	}
	pkg := s.PkgPath()[strings.LastIndex(s.PkgPath(), "/")+1:]
	if pkg == "console" || pkg == "console_test" || pkg == "" {
		return s.Name()
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + s.Name()
}

func (p *typePrinter) print(s reflect.Type) error {
	fields, err := p.fields(s)
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	fmt.Fprintf(&p.text, "\n/** %s */\nexport interface %s {\n", s, p.name(s))
	for i, field := range fields {
		if slices.ContainsFunc(fields[:i], func(f tsField) bool { return f.name == field.name }) {
			return fmt.Errorf("%s has the field %s twice", s, field.name)
		}
		optional := ""
		if field.optional {
			optional = "?"
		}
		fmt.Fprintf(&p.text, "  readonly %s%s: %s;\n", field.name, optional, field.kind)
	}
	p.text.WriteString("}\n")
	return nil
}

// A tsField is a field of an interface.
type tsField struct {
	name, kind string
	optional   bool
}

// fields are those of a struct, with those of structs that are embedded in it.
func (p *typePrinter) fields(s reflect.Type) (all []tsField, err error) {
	for field := range fieldsOf(s) {
		tag := strings.Split(field.Tag.Get("json"), ",")
		kind := field.Type
		if field.Anonymous && tag[0] == "" {
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			embedded, err := p.fields(kind)
			if err != nil {
				return nil, err
			}
			all = append(all, embedded...)
			continue
		}
		if !field.IsExported() || tag[0] == "-" {
			continue
		}
		if tag[0] == "" {
			return nil, fmt.Errorf("the field %s has no name in JSON", field.Name)
		}
		f := tsField{name: tag[0], optional: slices.Contains(tag, "omitempty") || slices.Contains(tag, "omitzero")}
		if f.optional && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // absent, never null
		}
		if f.kind, err = p.kind(kind); err != nil {
			return nil, fmt.Errorf("the field %s: %w", field.Name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func fieldsOf(s reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range s.NumField() {
			if !yield(s.Field(i)) {
				return
			}
		}
	}
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// kind returns the type of what encoding/json writes for a value. A slice and a map are never null:
// what the API answers has empty ones.
func (p *typePrinter) kind(t reflect.Type) (string, error) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "string", nil
	case t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface:
		return "unknown", nil
	case t.Kind() == reflect.Pointer:
		kind, err := p.kind(t.Elem())
		return kind + " | null", err
	case t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler):
		return "", fmt.Errorf("%s writes JSON of its own: give it a line here", t)
	case t.Implements(textMarshaler):
		return "string", nil
	}
	switch t.Kind() {
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return "number", nil
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string", nil // base64
		}
		kind, err := p.kind(t.Elem())
		return "readonly " + bracketed(kind) + "[]", err
	case reflect.Map:
		kind, err := p.kind(t.Elem())
		return "Readonly<Record<string, " + kind + ">>", err
	case reflect.Struct:
		if t.Name() == "" {
			return "", fmt.Errorf("a struct without a name")
		}
		return p.name(t), nil
	}
	return "", fmt.Errorf("%s has no JSON", t)
}

// bracketed puts a type into brackets that is more than a name.
func bracketed(kind string) string {
	if strings.Contains(kind, " ") && !strings.HasPrefix(kind, "Readonly<") {
		return "(" + kind + ")"
	}
	return kind
}

// A sample has a field of each kind.
type sample struct {
	Text     string             `json:"text"`
	Number   int64              `json:"number"`
	Ratio    float64            `json:"ratio,omitempty"`
	Yes      bool               `json:"yes"`
	Time     time.Time          `json:"time"`
	Later    *time.Time         `json:"later"`
	Absent   *inner             `json:"absent,omitempty"`
	List     [][]string         `json:"list"`
	Inner    []*inner           `json:"inner"`
	Tree     map[string][]inner `json:"tree"`
	Any      any                `json:"any"`
	Raw      json.RawMessage    `json:"raw"`
	Bytes    []byte             `json:"bytes"`
	Skipped  chan int           `json:"-"`
	Duration time.Duration      `json:"duration_ns"`
	inner
}

type inner struct {
	Name string `json:"name"`
}

// TestTypesOfEachKind compares the types of a sample with those that they should be.
func TestTypesOfEachKind(t *testing.T) {
	const want = `
/** console_test.sample */
export interface sample {
  readonly text: string;
  readonly number: number;
  readonly ratio?: number;
  readonly yes: boolean;
  readonly time: string;
  readonly later: string | null;
  readonly absent?: inner;
  readonly list: readonly (readonly string[])[];
  readonly inner: readonly (inner | null)[];
  readonly tree: Readonly<Record<string, readonly inner[]>>;
  readonly any: unknown;
  readonly raw: unknown;
  readonly bytes: string;
  readonly duration_ns: number;
  readonly name: string;
}

/** console_test.inner */
export interface inner {
  readonly name: string;
}
`
	got, err := typescript([]any{sample{}})
	if err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("typescript() = %v\n%s", err, got)
	}
	for name, value := range map[string]any{
		"unnamed": struct{ A int }{},
		"channel": struct {
			A chan int `json:"a"`
		}{},
		"twice": struct {
			inner
			A string `json:"name"`
		}{},
		"its own": struct {
			A []ownJSON `json:"a"`
		}{},
	} {
		if got, err := typescript([]any{value}); err == nil {
			t.Errorf("%s: typescript() = %s", name, got)
		}
	}
}

type ownJSON struct{}

func (ownJSON) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }
