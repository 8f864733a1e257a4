package imageapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
)

// The schemas of an image and of a member, from which Glance's own client builds its objects.
var (
	//go:embed schemas/image.json
	imageSchema []byte
	//go:embed schemas/member.json
	memberSchema []byte
)

// schema answers with the schema of one object.
func schema(item []byte) httpapi.Handler {
	var compact bytes.Buffer
	if err := json.Compact(&compact, item); err != nil {
		panic(err) // it is part of the program
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { j.Raw(compact.Bytes()) })
	}
}

// listSchema answers with the schema of a list of objects.
func listSchema(name string, item []byte) httpapi.Handler {
	text := map[string]string{"type": "string"}
	list, err := json.Marshal(map[string]any{
		"name": name,
		"properties": map[string]any{
			name:    map[string]any{"type": "array", "items": json.RawMessage(item)},
			"first": text, "next": text, "schema": text,
		},
		"links": []map[string]string{
			{"rel": "first", "href": "{first}"}, {"rel": "next", "href": "{next}"}, {"rel": "describedby", "href": "{schema}"},
		},
	})
	if err != nil {
		panic(err) // as in schema
	}
	return schema(list)
}
