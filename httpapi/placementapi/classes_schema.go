package placementapi

// classSchema is for the body of POST /resource_classes, and for that of PUT
// /resource_classes/{name} up to 1.6. From 1.7 PUT has no body: upstream puts the name between the
// quotes of the text {"name": "…"} and reads that as if it had come as one.
var classSchema = bodySchema(`{
	"type": "object",
	"properties": {
		"name": {"type": "string", "pattern": "` + customPattern + `", "maxLength": 255}
	},
	"required": ["name"],
	"additionalProperties": false
}`)
