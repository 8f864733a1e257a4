package placementapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/placement"
)

// A query is the query string of a request: its parameters in their order, which the texts of
// errors follow.
type query struct {
	params []queryParam
	minor  int
}

// A queryParam is one parameter, decoded.
type queryParam struct{ key, value string }

// parseQuery decodes the query string and validates it against a schema, which sees the last of
// repeated parameters.
func parseQuery(r *http.Request, schema *pyschema.Schema) (query, error) {
	return validQuery(r.URL.RawQuery, minor(r), schema)
}

// validQuery is parseQuery for the query string of a request at a version.
func validQuery(raw string, minor int, schema *pyschema.Schema) (query, error) {
	q, err := splitQuery(raw, minor)
	if err != nil {
		return q, err
	}
	return q, q.validate(schema)
}

// splitQuery splits the query string as WebOb does: at & and at ;, with empty pieces skipped, and
// values optional. A parameter that is not UTF-8 is an error.
func splitQuery(raw string, minor int) (query, error) {
	q := query{minor: minor}
	for piece, rest := "", raw; rest != ""; {
		piece, rest = cutPiece(rest)
		if piece == "" {
			continue
		}
		key, value, _ := strings.Cut(piece, "=")
		p := queryParam{unescape(key), unescape(value)}
		if err := p.checkUTF8(); err != nil {
			return q, badQuery("%v", err)
		}
		if q.params == nil {
			q.params = make([]queryParam, 0, 8)
		}
		q.params = append(q.params, p)
	}
	return q, nil
}

// cutPiece splits a query string at its first separator.
func cutPiece(text string) (piece, rest string) {
	for i := range len(text) {
		if text[i] == '&' || text[i] == ';' {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// checkUTF8 returns an error with the text of Python's UnicodeDecodeError for a key or a value that
// is not UTF-8; upstream reports it as a 400 (validate_query_params).
func (p queryParam) checkUTF8() error {
	if utf8.ValidString(p.key) && utf8.ValidString(p.value) {
		return nil
	}
	return cmp.Or(pyjson.CheckUTF8([]byte(p.key)), pyjson.CheckUTF8([]byte(p.value)))
}

// unescape decodes + and %XX, and a % with a single digit at the very end, as WebOb does. Other
// percent signs are unchanged.
func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		digits := s[i+1 : min(i+3, len(s))]
		n, err := strconv.ParseUint(digits, 16, 8)
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && err == nil:
			b.WriteByte(byte(n))
			i += len(digits)
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// badQuery returns the fault of an invalid query string, 400.
func badQuery(format string, args ...any) error {
	return fault.New(fault.Invalid, "", "Invalid query string parameters: "+format, args...)
}

// validate validates the parameters, as an object of strings, against a schema.
func (q query) validate(schema *pyschema.Schema) error {
	members := make([]pyjson.Member, len(q.params))
	for i, p := range q.params {
		members[i] = pyjson.Member{Key: p.key, Value: pyjson.NewString(p.value)}
	}
	if err := schema.Validate(pyjson.NewObject(members...)); err != nil {
		return badQuery("%v", err)
	}
	return nil
}

// all returns the values of a parameter.
func (q query) all(key string) []string {
	var values []string
	for _, p := range q.params {
		if p.key == key {
			values = append(values, p.value)
		}
	}
	return values
}

// first returns the first value of a parameter, false when there is none.
func (q query) first(key string) (string, bool) {
	for _, p := range q.params {
		if p.key == key {
			return p.value, true
		}
	}
	return "", false
}

// last returns the last value of a parameter, false when there is none.
func (q query) last(key string) (string, bool) {
	for _, p := range slices.Backward(q.params) {
		if p.key == key {
			return p.value, true
		}
	}
	return "", false
}

// lastOrEmpty returns the last value of a parameter. An absent one and an empty one are the same.
func (q query) lastOrEmpty(key string) string {
	v, _ := q.last(key)
	return v
}

// resourcesForm is the end of the texts about a malformed resources parameter.
const resourcesForm = "Badly formed resources parameter. Expected resources query string parameter in form: " +
	"?resources=VCPU:2,MEMORY_MB:1024. Got: "

// parseResources decodes "VCPU:2,MEMORY_MB:1024". Of a class that appears twice the last amount
// counts, at the position of the first.
func parseResources(text string) ([]placement.ClassAmount, error) {
	if trimPython(text) == "" {
		return nil, fault.New(fault.Invalid, "", "%sempty string.", resourcesForm)
	}
	var list []placement.ClassAmount
	places := make(map[string]int) // in the list, by class
	for piece := range strings.SplitSeq(text, ",") {
		class, number, ok := strings.Cut(piece, ":")
		if !ok || strings.Contains(number, ":") {
			return nil, fault.New(fault.Invalid, "", "%s%s.", resourcesForm, piece)
		}
		amount, err := parseAmount(class, number)
		if err != nil {
			return nil, err
		}
		i, found := places[class]
		if found {
			list[i].Amount = amount
			continue
		}
		places[class] = len(list)
		list = append(list, placement.ClassAmount{Class: class, Amount: amount})
	}
	return list, nil
}

// parseAmount decodes the amount of a class: 400 for what is no integer to Python, and for one
// below 1.
func parseAmount(class, text string) (int64, error) {
	n, digits, ok := pyjson.ParseInt(text)
	if !ok {
		return 0, fault.New(fault.Invalid, "", "Requested resource %s expected positive integer amount. Got: %s.", class,
			text)
	}
	if n < 1 {
		return 0, fault.New(fault.Invalid, "", "Requested resource %s requires amount >= 1. Got: %s.", class, digits)
	}
	return n, nil
}

// trimPython strips what Python's str.strip does.
func trimPython(s string) string { return strings.TrimFunc(s, pyjson.IsSpace) }

// traits decodes the required parameters of a group; before 1.39 the last one counts. The result is
// a conjunction of disjunctions, and the forbidden traits.
func (q query) traits(suffix string) (required [][]string, forbidden []string, err error) {
	values := q.all("required" + suffix)
	if q.minor < 39 && len(values) > 1 {
		values = values[len(values)-1:]
	}
	var seen map[string]bool
	for _, v := range values {
		req, forb, err := parseTraits(v, q.minor)
		if err != nil {
			return nil, nil, err
		}
		required = append(required, req...)
		if seen == nil && len(forb) > 0 {
			seen = make(map[string]bool)
		}
		for _, f := range forb {
			if !seen[f] {
				forbidden, seen[f] = append(forbidden, f), true
			}
		}
	}
	return required, forbidden, nil
}

// parseTraits decodes "A,!B" (forbidden traits since 1.22) and "in:A,B" (any-traits since 1.39).
func parseTraits(text string, minor int) (required [][]string, forbidden []string, err error) {
	if rest, ok := strings.CutPrefix(text, "in:"); ok {
		any, err := parseAnyTraits(text, rest, minor)
		return [][]string{any}, nil, err
	}
	names := strings.Split(text, ",")
	form := "HW_CPU_X86_VMX,CUSTOM_MAGIC"
	if minor >= 22 {
		form = "HW_CPU_X86_VMX,!CUSTOM_MAGIC"
	}
	for _, name := range names {
		name = trimPython(name)
		// However many marks there are, they forbid once: upstream's strip.
		bare := strings.TrimLeft(name, "!")
		switch {
		case bare == "":
			return nil, nil, badQuery("Expected 'required' parameter value of the form: %s. Got an empty trait in: %s", form,
				text)
		case bare != name:
			forbidden = append(forbidden, bare)
		default:
			required = append(required, []string{name})
		}
	}
	if len(forbidden) > 0 && minor < 22 {
		return nil, nil, badQuery("Expected 'required' parameter value of the form: %s. Got: %s", form, text)
	}
	return required, forbidden, nil
}

// parseAnyTraits decodes rest, the names behind "in:"; text is the whole value, for errors. A name
// that is repeated counts once. Its errors are 400: a version before 1.39, an empty name, and then
// a name with an exclamation mark.
func parseAnyTraits(text, rest string, minor int) ([]string, error) {
	if minor < 39 {
		return nil, badQuery("The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: %s",
			text)
	}
	var names []string
	seen := make(map[string]bool)
	marked := false
	for name := range strings.SplitSeq(rest, ",") {
		name = trimPython(name)
		if name == "" {
			return nil, badQuery("Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. "+
				"Got an empty trait in: %s", text)
		}
		marked = marked || name[0] == '!'
		if !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	if marked {
		return nil, badQuery("The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. Got: %s", text)
	}
	return names, nil
}

// memberOf decodes the member_of parameters of a group. 1.24 allows several, 1.32 forbidden
// aggregates.
func (q query) memberOf(suffix string) (required [][]placement.UUID, forbidden []placement.UUID, err error) {
	values := q.all("member_of" + suffix)
	if q.minor < 24 && len(values) > 1 {
		return nil, nil, fault.New(fault.Invalid, "", "Multiple member_of%s parameters are not supported", suffix)
	}
	for _, v := range values {
		uuids, not, err := parseMemberOf(v)
		if err != nil {
			return nil, nil, err
		}
		if !not {
			required = append(required, uuids)
			continue
		}
		if q.minor < 32 {
			return nil, nil, fault.New(fault.Invalid, "",
				"Forbidden member_of%s parameters are not supported in the specified microversion", suffix)
		}
		forbidden = append(forbidden, uuids...)
	}
	return required, forbidden, nil
}

// parseMemberOf decodes "UUID", "in:UUID,UUID", "!UUID" and "!in:UUID,UUID".
func parseMemberOf(text string) (uuids []placement.UUID, not bool, err error) {
	list, in := strings.CutPrefix(text, "in:")
	if rest, ok := strings.CutPrefix(text, "!in:"); ok {
		list, in, not = rest, true, true
	}
	if !in && strings.Contains(text, ",") {
		return nil, false, fault.New(fault.Invalid, "", "Multiple values for 'member_of' must be prefixed with the "+
			"'in:' or '!in:' keyword using the valid microversion. Got: %s", text)
	}
	if rest, ok := strings.CutPrefix(text, "!"); ok && !in {
		list, not = rest, true
	}
	pieces := []string{list}
	if in {
		pieces = strings.Split(list, ",")
	}
	for _, piece := range pieces {
		if !isUUIDLike(piece) {
			return nil, false, badQuery("Expected 'member_of' parameter to contain valid UUID(s). Got: %s", piece)
		}
		uuids = append(uuids, placement.UUID(piece))
	}
	return uuids, not, nil
}

// isUUIDLike reports whether a text is what oslo's is_uuid_like accepts.
func isUUIDLike(text string) bool {
	_, ok := pyschema.UUIDDigits(text)
	return ok
}
