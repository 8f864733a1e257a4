package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

// Project and user are any texts: upstream does not require that Keystone knows them, or that they
// are UUIDs.
const usagesQuery1_9 = `"project_id": ` + idPart + `, "user_id": ` + idPart

// usagesListSchemas are for the query of GET /usages. 1.38 filters by consumer type.
var usagesListSchemas = schemas{
	{38, usagesQuery(usagesQuery1_9 + `,
		"consumer_type": {"type": "string", "pattern": "` + consumerTypesPattern + `", "minLength": 1, "maxLength": 255}`)},
	{9, usagesQuery(usagesQuery1_9)},
}

func usagesQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"required": ["project_id"],
		"additionalProperties": false
	}`)
}
