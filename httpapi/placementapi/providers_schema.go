package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const (
	// 200 characters are what upstream's column holds (resource_providers.name), the names of
	// classes and traits may have 255.
	providerName   = `"name": {"type": "string", "maxLength": 200}`
	providerUUID   = `"uuid": ` + uuidPart
	providerParent = `"parent_provider_uuid": {"anyOf": [` + uuidPart + `, {"type": "null"}]}`
)

// providersPostSchemas are for the body of POST /resource_providers. 1.14 has the parent.
var providersPostSchemas = schemas{
	{14, providerBody(providerName + `, ` + providerUUID + `, ` + providerParent)},
	{0, providerBody(providerName + `, ` + providerUUID)},
}

// providersPutSchemas are for the body of PUT /resource_providers/{uuid}. 1.14 has the parent.
var providersPutSchemas = schemas{
	{14, providerBody(providerName + `, ` + providerParent)},
	{0, providerBody(providerName)},
}

// providerBody returns the schema of a provider with these properties, of which name alone is
// required.
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

// providersListSchemas are for the query of GET /resource_providers. 1.3 has member_of, 1.4
// resources, 1.14 in_tree, 1.18 required.
var providersListSchemas = schemas{
	{18, providersQuery(providersQuery1_18)},
	{14, providersQuery(providersQuery1_14)},
	{4, providersQuery(providersQuery1_4)},
	{3, providersQuery(providersQuery1_3)},
	{0, providersQuery(providersQuery1_0)},
}

// providersQuery returns the schema of a query with these parameters, none of them required. Others
// are refused, so that a filter of a later version is an error and not ignored.
func providersQuery(properties string) *pyschema.Schema {
	return querySchema(`{
		"type": "object",
		"properties": {` + properties + `},
		"additionalProperties": false
	}`)
}
