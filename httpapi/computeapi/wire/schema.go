package wire

import (
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

// Schemas are written as JSON text in Nova's order of keys: what comes first is named
// first. Parts that several schemas share are constants.
const (
	StringPart = `{"type": "string"}`
	UUIDPart   = `{"type": "string", "format": "uuid"}`
	NamePart   = `{"type": "string", "minLength": 1, "maxLength": 255, "format": "name"}`
	TextPart   = `{"type": "string", "minLength": 1, "maxLength": 255}`
	HostPart   = `{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9-._]*$"}`
	// HostnamePart is for the host name of a server.
	HostnamePart = `{"type": "string", "minLength": 2, "maxLength": 63, ` +
		`"pattern": "^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$"}`
	CountPart    = `{"type": ["integer", "string"], "pattern": "^[0-9]*$", "minimum": 0, "minLength": 1}`
	PositivePart = `{"type": ["integer", "string"], "pattern": "^[0-9]*$", "minimum": 1, "minLength": 1}`
	BooleanPart  = `{"type": ["boolean", "string"], "enum": [true, "True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes",
		false, "False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no"]}`
)

// Draft4 has the formats of Nova's validators, and the expressions that Go has not.
var Draft4 = pyschema.Draft4{
	Formats: pyschema.Formats{
		"uuid": pyschema.IsUUIDLike, "name": isName, "az_name": isZoneName, "keypair_name_20": isKeypairName,
		"keypair_name_292": isKeypairName292,
		"ipv4":             isIPv4, "ipv6": isIPv6, "regex": isExpression, "date-time": isTime, "base64": isBase64,
		"name_with_leading_trailing_spaces": isSpacedName,
	},
	Patterns: map[string]func(string) bool{FlavorIDPattern: isFlavorID, PrintablePattern: isPrintable},
}

// BodySchema compiles the schema of an object of one member, which is all that most bodies are.
func BodySchema(name, inner string) *pyschema.Schema {
	return Draft4.MustCompile(`{"type": "object", "properties": {"` + name + `": ` + inner + `},
		"required": ["` + name + `"], "additionalProperties": false}`)
}

// ByVersion returns a function that gives the schema of a minor version, and may be called
// concurrently. Versions are those that changed the schema, newest first, the last one being the
// first of the API. Each schema is compiled when it is used first, since none of the commands needs
// it; a mistake in it is a panic then.
func ByVersion(compile func(minor int) *pyschema.Schema, versions ...int) func(minor int) *pyschema.Schema {
	schemas := make([]func() *pyschema.Schema, len(versions))
	for i, since := range versions {
		schemas[i] = sync.OnceValue(func() *pyschema.Schema { return compile(since) })
	}
	return func(minor int) *pyschema.Schema {
		return schemas[slices.IndexFunc(versions, func(since int) bool { return minor >= since })]()
	}
}

// ObjectPart is an object with some properties and no others.
func ObjectPart(properties, required string) string {
	part := `{"type": "object", "properties": {` + properties + `}`
	if required != "" {
		part += `, "required": [` + required + `]`
	}
	return part + `, "additionalProperties": false}`
}

// Check reads the body, unless an action has been read from it, and holds it against a schema.
func (q *Request) Check(s *pyschema.Schema) error {
	if !q.hasBody {
		if err := q.read(); err != nil {
			return err
		}
	}
	if m := s.First(q.JSON); m != nil {
		return invalid(m, "field/attribute", m.Path[max(len(m.Path)-1, 0):])
	}
	return nil
}

// CheckMember holds the body against a schema and returns its member of a name.
func (q *Request) CheckMember(s *pyschema.Schema, name string) (pyjson.Value, error) {
	if err := q.Check(s); err != nil {
		return pyjson.Value{}, err
	}
	v, _ := q.JSON.Get(name)
	return v, nil
}

// invalid is the fault of a mistake in Nova's words, see SchemaValidator.validate in Nova's
// validators.py. Where is the step of the path that is named, none for what concerns the whole.
func invalid(m *pyschema.Mistake, what string, where []pyjson.Value) error {
	text := m.Message
	reason, isName := nameReasons[m.Wants.Str()]
	switch {
	case isName && m.Keyword == "format":
		text = "An invalid 'name' value was provided. The name must be: " + reason
	case len(where) > 0:
		text = "Invalid input for " + what + " " + brief(where[0]) + ". Value: " + brief(m.Value) + ". " + m.Message
	}
	return fault.New(fault.Invalid, codeValidation, "%s", text)
}

// brief is pyjson.Str, bounded.
func brief(v pyjson.Value) string {
	if v.Kind() == pyjson.String {
		return pyjson.Cut(v.Str(), MaxMessage, false)
	}
	return pyjson.Brief(v, MaxMessage)
}

// isIPv4 and isIPv6 are the formats of addresses. What is no text passes, as in the
// library.
func isIPv4(v pyjson.Value) bool {
	ip, err := netip.ParseAddr(v.Str())
	return v.Kind() != pyjson.String || err == nil && ip.Is4()
}

func isIPv6(v pyjson.Value) bool {
	ip, err := netip.ParseAddr(v.Str())
	return v.Kind() != pyjson.String || err == nil && ip.Is6() && ip.Zone() == ""
}

// Canonical is an address that a schema has accepted in its canonical form, as Nova keeps and shows
// addresses.
func Canonical(text string) string {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.String()
	}
	return text
}

// CanonicalIn is Canonical for a member that may not be there.
func CanonicalIn(v pyjson.Value, name string) *string {
	text := TextOf(v, name)
	if text != nil {
		*text = Canonical(*text)
	}
	return text
}

// isBase64 is the format of data. Python passes over what belongs to none.
func isBase64(v pyjson.Value) bool {
	text := strings.Map(func(c rune) rune {
		if strings.ContainsRune(base64Chars, c) {
			return c
		}
		return -1
	}, v.Str())
	if strings.Trim(text, "=") == "" {
		text = "" // padding of nothing
	}
	_, err := base64.StdEncoding.DecodeString(text)
	return v.Kind() == pyjson.String && err == nil
}

const base64Chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// Truth is a value that BooleanPart has accepted, as a boolean.
func Truth(v pyjson.Value) bool {
	t, _ := ParseBool(pyjson.Str(v))
	return t
}

// ParseBool reads a boolean as Nova's library does, and reports false for none.
func ParseBool(text string) (truth, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}
