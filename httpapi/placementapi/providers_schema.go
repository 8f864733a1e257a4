package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const (
	providerName   = `"name": {"type": "string", "maxLength": 200}`
	providerUUID   = `"uuid": ` + uuidPart
	providerParent = `"parent_provider_uuid": {"anyOf": [` + uuidPart + `, {"type": "null"}]}`
)

var (
	providersPostSchema1_0  = providerBody(providerName + `, ` + providerUUID)
	providersPostSchema1_14 = providerBody(providerName + `, ` + providerUUID + `, ` + providerParent)
	providersPutSchema1_0   = providerBody(providerName)
	providersPutSchema1_14  = providerBody(providerName + `, ` + providerParent)
)

func providerBody(properties string) *pyschema.Schema {
	return bodySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"required": ["name"],
		"additionalProperties": false
	}`)
}

const (
	providersQuery1_0  = `"name": ` + stringPart + `, "uuid": ` + uuidPart
	providersQuery1_3  = providersQuery1_0 + `, "member_of": ` + stringPart
	providersQuery1_4  = providersQuery1_3 + `, "resources": ` + stringPart
	providersQuery1_14 = providersQuery1_4 + `, "in_tree": ` + uuidPart
	providersQuery1_18 = providersQuery1_14 + `, "required": ` + stringPart
)

var (
	providersListSchema1_0  = providersQuery(providersQuery1_0)
	providersListSchema1_3  = providersQuery(providersQuery1_3)
	providersListSchema1_4  = providersQuery(providersQuery1_4)
	providersListSchema1_14 = providersQuery(providersQuery1_14)
	providersListSchema1_18 = providersQuery(providersQuery1_18)
)

func providersQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"additionalProperties": false
	}`)
}

// providersPostSchema is for the body of POST /resource_providers.
func providersPostSchema(minor int) *pyschema.Schema {
	return schemaAt(minor, schemaSince{14, providersPostSchema1_14}, schemaSince{0, providersPostSchema1_0})
}

// providersPutSchema is for the body of PUT /resource_providers/{uuid}.
func providersPutSchema(minor int) *pyschema.Schema {
	return schemaAt(minor, schemaSince{14, providersPutSchema1_14}, schemaSince{0, providersPutSchema1_0})
}

// providersListSchema is for the query of GET /resource_providers.
func providersListSchema(minor int) *pyschema.Schema {
	return schemaAt(minor,
		schemaSince{18, providersListSchema1_18},
		schemaSince{14, providersListSchema1_14},
		schemaSince{4, providersListSchema1_4},
		schemaSince{3, providersListSchema1_3},
		schemaSince{0, providersListSchema1_0},
	)
}
