package pyschema_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

var formats = pyschema.Formats{"uuid": pyschema.IsUUIDLike}

// message returns the first line of what is wrong with body, or "".
func message(t *testing.T, schema, body string) string {
	t.Helper()
	v, err := pyjson.Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	err = pyschema.MustCompile(schema, formats).Validate(v)
	if err == nil {
		return ""
	}
	return err.(*pyschema.Error).Message
}

// The wanted texts are those of jsonschema 4.26.
func TestKeywords(t *testing.T) {
	f := func(schema, body, want string) {
		t.Helper()
		if got := message(t, schema, body); got != want {
			t.Errorf("%s with %s: %q, want %q", schema, body, got, want)
		}
	}
	f(`{"type": "integer"}`, `1.0`, "")
	f(`{"type": "integer"}`, `true`, "True is not of type 'integer'")
	f(`{"type": "number"}`, `NaN`, "")
	f(`{"type": ["integer", "null"]}`, `"1"`, "'1' is not of type 'integer', 'null'")
	f(`{"minimum": 1}`, `0`, "0 is less than the minimum of 1")
	f(`{"minimum": 1}`, `"0"`, "")
	f(`{"minimum": 1}`, `NaN`, "")
	f(`{"minimum": 1}`, `-100000000000000000000`, "-100000000000000000000 is less than the minimum of 1")
	f(`{"maximum": 3.40282e+38}`, `1e400`, "inf is greater than the maximum of 3.40282e+38")
	f(`{"maximum": 9007199254740992}`, `9007199254740993.0`, "")
	f(`{"maximum": 9007199254740992.0}`, `9007199254740993`,
		"9007199254740993 is greater than the maximum of 9007199254740992.0")
	f(`{"minLength": 1}`, `""`, "'' should be non-empty")
	f(`{"minLength": 2}`, `"é"`, "'é' is too short")
	f(`{"maxLength": 2}`, `"\ud800é"`, "")
	f(`{"maxLength": 0}`, `"a"`, "'a' is expected to be empty")
	f(`{"maxLength": 1}`, `"ab"`, "'ab' is too long")
	f(`{"minItems": 1}`, `[]`, "[] should be non-empty")
	f(`{"minProperties": 1}`, `{}`, "{} should be non-empty")
	f(`{"minProperties": 2}`, `{}`, "{} does not have enough properties")
	f(`{"enum": ["none", "isolate"]}`, `"bogus"`, "'bogus' is not one of ['none', 'isolate']")
	f(`{"pattern": "^[A-Z]+$"}`, `"ab"`, "'ab' does not match '^[A-Z]+$'")
	f(`{"format": "uuid"}`, `5`, "5 is not a 'uuid'")
	f(`{"required": ["a", "b"]}`, `{}`, "'a' is a required property")
	f(`{"properties": {"a": {}}, "additionalProperties": false}`, `{"c": 1, "b": 1}`,
		"Additional properties are not allowed ('b', 'c' were unexpected)")
	f(`{"patternProperties": {"^b$": {}, "^a$": {}}, "additionalProperties": false}`, `{"x": 1}`,
		"'x' does not match any of the regexes: '^a$', '^b$'")
	f(`{"anyOf": [{"type": "string", "format": "uuid"}, {"type": "null"}]}`, `5`,
		"5 is not valid under any of the given schemas")
	f(`{"anyOf": [{"type": "string", "format": "uuid"}, {"type": "null"}]}`, `"x"`, "'x' is not a 'uuid'")
}

func TestDollarMatchesBeforeALastLineEnd(t *testing.T) {
	for body, valid := range map[string]bool{`"AB"`: true, `"AB\n"`: true, `"AB\n\n"`: false, `"AB\nC"`: false} {
		if got := message(t, `{"pattern": "^[A-Z]+$|^x"}`, body); (got == "") != valid {
			t.Errorf("%s: %q, want valid %v", body, got, valid)
		}
	}
}

func TestUniqueItems(t *testing.T) {
	many := `"x", ` + strings.Repeat(`"x", `, 1)
	var different []string
	for i := range 40 {
		different = append(different, `"`+strings.Repeat("y", i)+`"`)
	}
	for body, unique := range map[string]bool{
		`[]`: true, `["a", "b"]`: true, `["a", "a"]`: false, `[1, 1.0]`: false, `[1, true]`: true, `[0, false]`: true,
		`[[1], [true]]`: true, `[[1], [1.0]]`: false, `[null, null]`: false, `["1", 1]`: true, `[1e400, 1e400]`: false,
		`[{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]`: false, `[{"a": 1}, {"a": 1, "b": 2}]`: true, `["\"", "'"]`: true,
		`[` + strings.Join(different, ", ") + `]`: true, `[` + many + strings.Join(different, ", ") + `]`: false,
	} {
		if got := message(t, `{"uniqueItems": true}`, body); (got == "") != unique {
			t.Errorf("%s: %q, want unique %v", body, got, unique)
		}
	}
}

func TestShallowestAndGreatestPathIsNamed(t *testing.T) {
	const schema = `{
		"properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {"type": "integer"}}}},
		"required": ["a"]
	}`
	f := func(body, want string) {
		t.Helper()
		if got := message(t, schema, body); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	f(`{"b": {"c": "x"}}`, "'a' is a required property")
	f(`{"a": "x", "b": {"c": "y"}}`, "'x' is not of type 'integer'")
	f(`{"a": 1, "b": {"c": "y"}}`, "'y' is not of type 'integer'")
}

func TestErrorShowsSchemaAndInstance(t *testing.T) {
	s := pyschema.MustCompile(`{"properties": {"total": {"type": "integer", "minimum": 1}}}`, nil)
	v, err := pyjson.Parse([]byte(`{"total": 0}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `0 is less than the minimum of 1

Failed validating 'minimum' in schema['properties']['total']:
    {'type': 'integer', 'minimum': 1}

On instance['total']:
    0`
	if d := cmp.Diff(want, s.Validate(v).Error()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCompileRefusesWhatItDoesNotKnow(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                               "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
		`[]`:                              "a schema is an object, not []",
		`{"not": {}}`:                     "not: not a known keyword",
		`{"type": "text"}`:                "type: 'text' is no type",
		`{"format": "date"}`:              "format: 'date' is no known format",
		`{"pattern": "\\d"}`:              `pattern: pattern \d has a backslash`,
		`{"oneOf": [{}]}`:                 "oneOf: not a known keyword",
		`{"items": [{}]}`:                 "items: a schema is an object, not [{}]",
		`{"exclusiveMinimum": true}`:      "exclusiveMinimum: not a known keyword",
		`{"additionalProperties": true}`:  "additionalProperties: only false is known",
		`{"properties": {"a": {"x": 1}}}`: "properties: a: x: not a known keyword",
	} {
		if _, err := pyschema.Compile(schema, formats); err == nil || err.Error() != want {
			t.Errorf("Compile(%s) = %v, want %s", schema, err, want)
		}
	}
}

// The answers are those of oslo.utils and jsonschema.
func TestUUIDs(t *testing.T) {
	const u = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
	bare := strings.ReplaceAll(u, "-", "")
	for _, c := range []struct {
		text         string
		like, dashed bool
	}{
		{u, true, true},
		{strings.ToUpper(u), true, true},
		{bare, true, false},
		{"{" + u + "}", true, false},
		{"urn:uuid:" + u, true, false},
		{"4-e-8-e" + bare[4:], true, false},
		{u[:35], false, false},
		{u + "\n", false, false},
		{"", false, false},
		{"4e8e5957-649f-477b-9e5b-f1f75b21c03g", false, false},
		{"4_8e5957-649f-477b-9e5b-f1f75b21c03c", false, true},
		{"4__e5957-649f-477b-9e5b-f1f75b21c03c", false, false},
		{"+e8e5957-649f-477b-9e5b-f1f75b21c03c", false, true},
		{"0xxe5957-649f-477b-9e5b-f1f75b21c03c", false, false},
		{"0x8e5957-649f-477b-9e5b-f1f75b21c03c", false, true},
		{" e8e5957-649f-477b-9e5b-f1f75b21c03 ", false, true},
		{"٣e8e5957-649f-477b-9e5b-f1f75b21c03c", false, true},
		{strings.Repeat(" ", 8) + "-    -    -    -            ", false, false},
	} {
		v := pyjson.NewString(c.text)
		if got := pyschema.IsUUIDLike(v); got != c.like {
			t.Errorf("IsUUIDLike(%q) = %v", c.text, got)
		}
		if got := pyschema.IsDashedUUID(v); got != c.dashed {
			t.Errorf("IsDashedUUID(%q) = %v", c.text, got)
		}
	}
	if number := pyjson.NewInt(5); pyschema.IsUUIDLike(number) || !pyschema.IsDashedUUID(number) {
		t.Error("a number is no uuid in a body, and passes in a query")
	}
}

// The message about a large value keeps its end, which says what is wrong.
func TestMessageOfALargeValueSaysWhatIsWrong(t *testing.T) {
	const limit = 64 << 10
	for schema, want := range map[string]string{
		`{"maxLength": 1}`: " is too long", `{"type": "integer"}`: " is not of type 'integer'",
	} {
		got := message(t, schema, `"`+strings.Repeat("é", limit)+`"`)
		if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "'éé") || len(got) > limit+100 || !utf8.ValidString(got) {
			t.Errorf("%s: a message of %d bytes that ends in %q", schema, len(got), got[max(0, len(got)-50):])
		}
	}
}
