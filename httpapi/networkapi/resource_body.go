package networkapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// bodies reads the body of a POST or PUT.
func (res *resource[T, S]) bodies(r *http.Request, creating bool) (items []body, bulk bool, err error) {
	v, err := readObject(r, res.name)
	if err != nil {
		return nil, false, err
	}
	list, bulk := v.Get(res.plural)
	if bulk && creating && res.notBulk {
		return nil, true, badRequest("Bulk operation not supported")
	}
	if !bulk || !creating || res.single {
		one, err := res.body(r, v, creating)
		return []body{one}, false, err
	}
	if list.Len() == 0 {
		return nil, true, badRequest("Resources required")
	}
	if list.Kind() != pyjson.Array {
		return nil, true, badRequest("Body contains invalid data")
	}
	if list.Len() > maxBulk {
		return nil, true, badRequest("%d %s are more than the %d that one request makes", list.Len(), res.plural, maxBulk)
	}
	for _, item := range list.Items() {
		if err := r.Context().Err(); err != nil {
			return nil, true, err
		}
		if item.Kind() != pyjson.Object {
			return nil, true, badRequest("Body contains invalid data")
		}
		if _, wrapped := item.Get(res.name); !wrapped {
			item = object(res.name, item)
		}
		one, err := res.body(r, item, creating)
		if err != nil {
			return nil, true, err
		}
		items = append(items, one)
	}
	return items, true, nil
}

// body reads one object out of {"name": {…}}.
func (res *resource[T, S]) body(r *http.Request, v pyjson.Value, creating bool) (body, error) {
	item, err := member(v, res.name)
	if err != nil {
		return body{}, err
	}
	if item, err = res.api.owned(r.Context(), item); err != nil {
		return body{}, err
	}
	return read(res.table, item, creating)
}

// member returns the object under a name in another one.
func member(v pyjson.Value, name string) (pyjson.Value, error) {
	item, ok := v.Get(name)
	switch {
	case !ok || item.Kind() == pyjson.Null:
		return item, badRequest("Unable to find '%s' in request body", name)
	case item.Kind() != pyjson.Object:
		return item, badRequest("Object '%s' contains invalid data", name)
	}
	return item, nil
}

// core are the kinds whose bodies Neutron reads by other code than those of all
// others, with other words.
var core = []string{"network", "subnet", "port"}

// readObject reads the body of a request about objects of a kind, which must be a JSON
// object.
func readObject(r *http.Request, kind string) (pyjson.Value, error) {
	b, err := httpapi.ReadBody(r)
	switch {
	case err != nil:
		return pyjson.Value{}, err
	case slices.Contains(core, kind):
		return coreObject(b, kind)
	case len(b) == 0 && r.Method == http.MethodPut:
		return pyjson.Value{}, newFault("BadRequest", "Bad body request: Invalid format: b''.")
	}
	v, err := parseBody(b)
	switch {
	case err != nil:
		return v, err
	case nothing(v):
		return v, badRequest("Resource body required")
	case v.Kind() != pyjson.Object:
		return v, badRequest("Body contains invalid data")
	}
	return v, nil
}

func coreObject(b []byte, kind string) (pyjson.Value, error) {
	if len(b) == 0 {
		return pyjson.Value{}, badRequest("Unable to find '%s' in request body", kind)
	}
	v, err := pyjson.Parse(b)
	if err != nil || v.Kind() != pyjson.Object {
		return v, badRequest("Body contains invalid data")
	}
	return v, nil
}

// readBody reads a body that may be any JSON, null when there is none.
func readBody(r *http.Request) (pyjson.Value, error) {
	b, err := httpapi.ReadBody(r)
	if err != nil {
		return pyjson.Value{}, err
	}
	return parseBody(b)
}

func parseBody(b []byte) (pyjson.Value, error) {
	if len(b) == 0 {
		return pyjson.Value{}, nil
	}
	v, err := pyjson.Parse(b)
	if err != nil {
		return v, newFault("MalformedRequestBody", "Malformed request body: Cannot understand JSON.")
	}
	return v, nil
}

// nothing reports whether Python takes a value for false.
func nothing(v pyjson.Value) bool {
	switch v.Kind() {
	case pyjson.Array, pyjson.Object:
		return v.Len() == 0
	case pyjson.Int, pyjson.Float:
		return v.Float64() == 0
	}
	return v.Str() == "" && !v.Bool()
}
