package resource

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// Bodies reads the objects in the body of a POST or PUT, and reports whether they are a list.
func (res *Resource[T, S]) Bodies(r *http.Request, creating bool) (items []Body, bulk bool, err error) {
	read := ReadObject
	if res.Core {
		read = func(r *http.Request) (pyjson.Value, error) { return readCore(r, res.Name) }
	}
	v, err := read(r)
	if err != nil {
		return nil, false, err
	}
	list, bulk := v.Get(res.Plural)
	if bulk && creating && res.NoBulk {
		return nil, true, BadRequest("Bulk operation not supported")
	}
	if !bulk || !creating || res.OneOnly {
		one, err := res.body(r, v, creating)
		return []Body{one}, false, err
	}
	if list.Len() == 0 {
		return nil, true, BadRequest("Resources required")
	}
	if list.Kind() != pyjson.Array {
		return nil, true, BadRequest("Body contains invalid data")
	}
	if list.Len() > maxBulk {
		return nil, true, BadRequest("%d %s are more than the %d that one request makes", list.Len(), res.Plural, maxBulk)
	}
	for _, item := range list.Items() {
		if err := r.Context().Err(); err != nil {
			return nil, true, err
		}
		if item.Kind() != pyjson.Object {
			return nil, true, BadRequest("Body contains invalid data")
		}
		if _, wrapped := item.Get(res.Name); !wrapped {
			item = pyjson.NewObject(pyjson.M(res.Name, item))
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
func (res *Resource[T, S]) body(r *http.Request, v pyjson.Value, creating bool) (Body, error) {
	item, err := MemberObject(v, res.Name)
	if err != nil {
		return Body{}, err
	}
	if item, err = res.API.owned(r.Context(), item); err != nil {
		return Body{}, err
	}
	return Read(res.Table, item, creating)
}

// MemberObject returns the object under a name in another one.
func MemberObject(v pyjson.Value, name string) (pyjson.Value, error) {
	item, ok := v.Get(name)
	switch {
	case !ok || item.Kind() == pyjson.Null:
		return item, BadRequest("Unable to find '%s' in request body", name)
	case item.Kind() != pyjson.Object:
		return item, BadRequest("Object '%s' contains invalid data", name)
	}
	return item, nil
}

// ReadObject reads the body of a request, which must be a JSON object.
func ReadObject(r *http.Request) (pyjson.Value, error) {
	b, err := httpapi.ReadBody(r)
	switch {
	case err != nil:
		return pyjson.Value{}, err
	case len(b) == 0 && r.Method == http.MethodPut:
		return pyjson.Value{}, NewFault("BadRequest", "Bad body request: Invalid format: b''.")
	}
	v, err := parseBody(b)
	switch {
	case err != nil:
		return v, err
	case nothing(v):
		return v, BadRequest("Resource body required")
	case v.Kind() != pyjson.Object:
		return v, BadRequest("Body contains invalid data")
	}
	return v, nil
}

// readCore is readObject for the kinds that Neutron calls core resources.
func readCore(r *http.Request, kind string) (pyjson.Value, error) {
	b, err := httpapi.ReadBody(r)
	if err != nil {
		return pyjson.Value{}, err
	}
	if len(b) == 0 {
		return pyjson.Value{}, BadRequest("Unable to find '%s' in request body", kind)
	}
	v, err := pyjson.Parse(b)
	if err != nil || v.Kind() != pyjson.Object {
		return v, BadRequest("Body contains invalid data")
	}
	return v, nil
}

// ReadBody reads a body that may be any JSON, null when there is none.
func ReadBody(r *http.Request) (pyjson.Value, error) {
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
		return v, NewFault("MalformedRequestBody", "Malformed request body: Cannot understand JSON.")
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
