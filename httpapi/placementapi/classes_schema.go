package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

var classSchema1_2 = bodySchema(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "pattern": "` + customPattern + `", "maxLength": 255}
	},
	"required": ["name"],
	"additionalProperties": false
}`)

// classesPostSchema is for the body of POST /resource_classes.
func classesPostSchema(int) *pyschema.Schema { return classSchema1_2 }

// classesPutSchema is for the body of PUT /resource_classes/{name} up to 1.6. From
// 1.7 there is no body: upstream puts the name between the quotes of the text
// {"name": "…"} and reads that as if it had come as one.
func classesPutSchema(int) *pyschema.Schema { return classSchema1_2 }
