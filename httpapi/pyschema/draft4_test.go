package pyschema_test

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

// The wanted texts are those of jsonschema 4.10 with Nova's validators, the path before
// them.
func TestDraft4NamesTheFirstMistake(t *testing.T) {
	draft4 := pyschema.Draft4{
		Formats:  formats,
		Patterns: map[string]func(string) bool{"^(?! )": func(s string) bool { return !strings.HasPrefix(s, " ") }},
	}
	f := func(schema, body, want string) {
		t.Helper()
		v, err := pyjson.Parse([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		got := ""
		if m := draft4.MustCompile(schema).First(v); m != nil {
			for _, step := range m.Path {
				got += pyjson.Repr(step) + " "
			}
			got += m.Keyword + ": " + m.Message
		}
		if got != want {
			t.Errorf("%s with %s: %q, want %q", schema, body, got, want)
		}
	}
	f(`{"type": "integer"}`, `1.0`, "type: 1.0 is not of type 'integer'")
	f(`{"type": "integer"}`, `100000000000000000000`, "")
	f(`{"minLength": 1}`, `""`, "minLength: '' is too short")
	f(`{"maxLength": 0}`, `"x"`, "maxLength: 'x' is too long")
	f(`{"maxItems": 1}`, `["a", "b"]`, "maxItems: ['a', 'b'] is too long")
	f(`{"minProperties": 1}`, `{}`, "minProperties: {} does not have enough properties")
	f(`{"maxProperties": 1}`, `{"a": 1, "b": 2}`, "maxProperties: {'a': 1, 'b': 2} has too many properties")
	f(`{"minimum": 0, "exclusiveMinimum": true}`, `0`, "minimum: 0 is less than or equal to the minimum of 0")
	f(`{"minimum": 0, "exclusiveMinimum": true}`, `0.5`, "")
	f(`{"maximum": 9, "exclusiveMaximum": true}`, `9`, "maximum: 9 is greater than or equal to the maximum of 9")
	f(`{"minimum": 1}`, `"0"`, "minimum: 0 is less than the minimum of 1")
	f(`{"maximum": 1}`, `"1.5"`, "maximum: 1.5 is greater than the maximum of 1")
	f(`{"minimum": 1}`, `false`, "minimum: 0 is less than the minimum of 1")
	f(`{"minimum": 1}`, `"x"`, "")
	f(`{"minimum": 1}`, `null`, "")
	f(`{"enum": [true, "true", null]}`, `true`, "")
	f(`{"enum": [true, "true", null]}`, `null`, "")
	f(`{"enum": [true, "true"]}`, `1`, "enum: 1 is not one of [True, 'true']")
	f(`{"pattern": "^(?! )"}`, `" x"`, "pattern: ' x' does not match '^(?! )'")
	f(`{"pattern": "^[0-9]+(\\.[0-9]+)?$"}`, `"1x5"`, `pattern: '1x5' does not match '^[0-9]+(\\.[0-9]+)?$'`)
	f(`{"items": [{"type": "string"}], "additionalItems": false}`, `[1]`, "0 type: 1 is not of type 'string'")
	f(`{"items": [{}], "additionalItems": false}`, `[1, 2, 3]`,
		"additionalItems: Additional items are not allowed (2, 3 were unexpected)")
	f(`{"allOf": [{"minLength": 1}, {"format": "uuid"}]}`, `"x"`, "format: 'x' is not a 'uuid'")
	f(`{"oneOf": [{"type": "string"}, {"type": "null"}]}`, `5`, "oneOf: 5 is not valid under any of the given schemas")
	f(`{"oneOf": [{"type": "string"}, {"type": "null"}]}`, `null`, "")
	f(`{"oneOf": [{"type": "string"}, {"minLength": 1}]}`, `"x"`,
		"oneOf: 'x' is valid under each of {'minLength': 1}, {'type': 'string'}")
	f(`{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{}`,
		"anyOf: {} is not valid under any of the given schemas")
	f(`{"properties": {"a": {"type": "string"}}, "additionalProperties": true}`, `{"b": 1}`, "")
	// Not what is most relevant, but what comes first.
	f(`{"properties": {"a": {"properties": {"b": {"type": "string"}}}}, "required": ["c"]}`, `{"a": {"b": 1}}`,
		"'a' 'b' type: 1 is not of type 'string'")
	f(`{"required": ["c"], "properties": {"a": {"type": "string"}}}`, `{"a": 1}`, "required: 'c' is a required property")
}

func TestMistakesSayWhatIsWanted(t *testing.T) {
	v := pyjson.NewString("x")
	m := pyschema.Draft4{Formats: formats}.MustCompile(`{"format": "uuid"}`).First(v)
	if m == nil || m.Wants.Str() != "uuid" || m.Value.Str() != "x" {
		t.Errorf("First is %+v", m)
	}
}
