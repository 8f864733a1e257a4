package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const aggregatesList = `{"type": "array", "items": ` + uuidPart + `, "uniqueItems": true}`

var (
	aggregatesPutSchema1_1 = bodySchema(aggregatesList)

	aggregatesPutSchema1_19 = bodySchema(`{
		"type": "object",
		"properties": {
			"aggregates": ` + aggregatesList + `,
			"resource_provider_generation": ` + integerPart + `
		},
		"required": ["aggregates", "resource_provider_generation"],
		"additionalProperties": false
	}`)
)

// aggregatesPutSchema is for the body of PUT …/aggregates.
func aggregatesPutSchema(minor int) *pyschema.Schema {
	return schemaAt(minor, schemaSince{19, aggregatesPutSchema1_19}, schemaSince{1, aggregatesPutSchema1_1})
}
