package httpapi

import "github.com/berthcloud/berth/httpapi/pyjson"

// Value writes JSON that was read, numbers as they were.
func (j *JSON) Value(v pyjson.Value) {
	switch v.Kind() {
	case pyjson.Null:
		j.Null()
	case pyjson.Bool:
		j.Bool(v.Bool())
	case pyjson.Int:
		j.Raw([]byte(pyjson.Repr(v))) // of any size
	case pyjson.Float:
		j.Float(v.Float64())
	case pyjson.String:
		j.String(v.Str())
	case pyjson.Array:
		j.Array()
		for _, item := range v.Items() {
			j.Value(item)
		}
		j.EndArray()
	case pyjson.Object:
		j.Object()
		for _, m := range v.Members() {
			j.Key(m.Key)
			j.Value(m.Value)
		}
		j.EndObject()
	}
}
