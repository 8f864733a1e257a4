package placementapi

import (
	"math"
	"net/http"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/placement"
)

// readJSON reads, parses and validates the body of a request. Its errors are 400 with upstream's
// texts (util.extract_json), or those of [httpapi.ReadBody].
func readJSON(r *http.Request, schema *pyschema.Schema) (pyjson.Value, error) {
	body, err := httpapi.ReadBody(r)
	if err != nil {
		return pyjson.Value{}, err
	}
	return parseJSON(body, schema)
}

// parseJSON parses and validates a JSON text. Beyond upstream, it refuses strings with half of a
// surrogate pair, which no database can store.
func parseJSON(text []byte, schema *pyschema.Schema) (pyjson.Value, error) {
	v, err := pyjson.Parse(text)
	if err != nil {
		return pyjson.Value{}, fault.New(fault.Invalid, "", "Malformed JSON: %v", err)
	}
	if !pyjson.IsText(text, v) {
		return pyjson.Value{}, fault.New(fault.Invalid, "", "Malformed JSON: a string has half of a surrogate pair")
	}
	if err := schema.Validate(v); err != nil {
		return pyjson.Value{}, fault.New(fault.Invalid, "", "JSON does not validate: %v", err)
	}
	return v, nil
}

// member returns a member of an object, null when it is absent.
func member(v pyjson.Value, key string) pyjson.Value {
	m, _ := v.Get(key)
	return m
}

// number returns a member that the schema requires to be an integer, or fallback when it is absent.
// Numbers that no row can have become -1.
func number(v pyjson.Value, key string, fallback int64) int64 {
	m, ok := v.Get(key)
	if !ok {
		return fallback
	}
	return integer(m)
}

// integer returns a number that a schema has found to be an integer, which 2.0 is for jsonschema.
// One that is too large for an int64 becomes -1, also 1e300, which Go converts as the machine does.
func integer(v pyjson.Value) int64 {
	if v.Kind() == pyjson.Float {
		if f := v.Float64(); math.Abs(f) < 1<<63 {
			return int64(f)
		}
		return -1
	}
	n, ok := v.Int64()
	if !ok {
		return -1
	}
	return n
}

// generation returns the provider's generation in a body, -1, which no provider has, when it is
// absent.
func generation(v pyjson.Value) placement.Generation {
	return placement.Generation(number(v, "resource_provider_generation", -1))
}

// amounts decodes an object of amounts by resource class, in the order of its keys.
func amounts(v pyjson.Value) []placement.ClassAmount {
	list := make([]placement.ClassAmount, 0, v.Len())
	for _, m := range v.Members() {
		list = append(list, placement.ClassAmount{Class: m.Key, Amount: integer(m.Value)})
	}
	return list
}
