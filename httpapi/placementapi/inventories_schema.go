package placementapi

import "github.com/berthcloud/berth/httpapi/pyschema"

const (
	inventoryFromOne  = `{"type": "integer", "maximum": 2147483647, "minimum": 1}`
	inventoryFromZero = `{"type": "integer", "maximum": 2147483647, "minimum": 0}`

	inventoryProperties = `
		"resource_provider_generation": ` + integerPart + `,
		"total": ` + inventoryFromOne + `,
		"reserved": ` + inventoryFromZero + `,
		"min_unit": ` + inventoryFromOne + `,
		"max_unit": ` + inventoryFromOne + `,
		"step_size": ` + inventoryFromOne + `,
		"allocation_ratio": {"type": "number", "maximum": 3.40282e+38}`

	inventoryRecord = `{
		"type": "object",
		"properties": {` + inventoryProperties + `},
		"required": ["total"],
		"additionalProperties": false
	}`

	inventoriesPart = `{
		"type": "object",
		"properties": {
			"resource_provider_generation": ` + integerPart + `,
			"inventories": {
				"type": "object",
				"patternProperties": {"` + classPattern + `": ` + inventoryRecord + `}
			}
		},
		"required": ["resource_provider_generation", "inventories"],
		"additionalProperties": false
	}`
)

var (
	inventoryPostSchema1_0 = bodySchema(`{
		"type": "object",
		"properties": {` + inventoryProperties + `,
			"resource_class": {"type": "string", "pattern": "` + classPattern + `"}
		},
		"required": ["total", "resource_class"],
		"additionalProperties": false
	}`)

	inventoriesPutSchema1_0 = bodySchema(inventoriesPart)

	inventoryPutSchema1_0 = bodySchema(`{
		"type": "object",
		"properties": {` + inventoryProperties + `},
		"required": ["total", "resource_provider_generation"],
		"additionalProperties": false
	}`)
)

// inventoryPostSchema is for the body of POST …/inventories, at all versions.
func inventoryPostSchema(int) *pyschema.Schema { return inventoryPostSchema1_0 }

// inventoriesPutSchema is for the body of PUT …/inventories, at all versions.
func inventoriesPutSchema(int) *pyschema.Schema { return inventoriesPutSchema1_0 }

// inventoryPutSchema is for the body of PUT …/inventories/{class}, at all
// versions.
func inventoryPutSchema(int) *pyschema.Schema { return inventoryPutSchema1_0 }
