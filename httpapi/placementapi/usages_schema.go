package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const usagesQuery1_9 = `"project_id": ` + idPart + `, "user_id": ` + idPart

var (
	usagesListSchema1_9  = usagesQuery(usagesQuery1_9)
	usagesListSchema1_38 = usagesQuery(usagesQuery1_9 + `,
		"consumer_type": {"type": "string", "pattern": "` + consumerTypesPattern + `", "minLength": 1, "maxLength": 255}`)
)

func usagesQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"required": ["project_id"],
		"additionalProperties": false
	}`)
}

// usagesListSchema is for the query of GET /usages.
func usagesListSchema(minor int) *pyschema.Schema {
	return schemaAt(minor, schemaSince{38, usagesListSchema1_38}, schemaSince{9, usagesListSchema1_9})
}
