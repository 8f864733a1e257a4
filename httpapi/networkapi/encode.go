package networkapi

import (
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// writeValue writes any value.
func writeValue(j *httpapi.JSON, v pyjson.Value) {
	switch v.Kind() {
	case pyjson.Null:
		j.Null()
	case pyjson.Bool:
		j.Bool(v.Bool())
	case pyjson.Int:
		n, _ := v.Int64()
		j.Int(n)
	case pyjson.Float:
		j.Float(v.Float64())
	case pyjson.String:
		j.String(v.Str())
	case pyjson.Array:
		j.Array()
		for _, item := range v.Items() {
			writeValue(j, item)
		}
		j.EndArray()
	case pyjson.Object:
		j.Object()
		for _, m := range v.Members() {
			j.Key(m.Key)
			writeValue(j, m.Value)
		}
		j.EndObject()
	}
}
