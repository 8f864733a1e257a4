package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

var (
	reshaperPostSchema1_30 = reshaperBody(claim1_28)
	reshaperPostSchema1_34 = reshaperBody(claim1_34)
	reshaperPostSchema1_38 = reshaperBody(claim1_38)
)

func reshaperBody(claim string) *pyschema.Schema {
	return bodySchema(`{
		"type": "object",
		"properties": {
			"inventories": {
				"type": "object",
				"patternProperties": {"` + uuidPattern + `": ` + inventoriesPart + `},
				"minProperties": 1,
				"additionalProperties": false
			},
			"allocations": ` + claims(0, claim) + `
		},
		"required": ["inventories", "allocations"],
		"additionalProperties": false
	}`)
}

// reshaperPostSchema is for the body of POST /reshaper.
func reshaperPostSchema(minor int) *pyschema.Schema {
	return schemaAt(minor,
		schemaSince{38, reshaperPostSchema1_38},
		schemaSince{34, reshaperPostSchema1_34},
		schemaSince{30, reshaperPostSchema1_30},
	)
}
