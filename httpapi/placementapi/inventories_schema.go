package placementapi

const (
	// 2147483647 is MAX_INT of upstream's database, the greatest number in a column of type
	// INTEGER. 3.40282e+38 below is SQL_SP_FLOAT_MAX, near the greatest float of single precision.
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

	// inventoriesPart does not refuse keys of inventories that match no pattern; upstream's schema
	// does not either.
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

// The schemas for the bodies of POST …/inventories, PUT …/inventories and PUT
// …/inventories/{class}, at all versions. That all of an inventory may be reserved, from 1.26 on,
// is a rule and not in the schema.
var (
	inventoryPostSchema = bodySchema(`{
		"type": "object",
		"properties": {` + inventoryProperties + `,
			"resource_class": {"type": "string", "pattern": "` + classPattern + `"}
		},
		"required": ["total", "resource_class"],
		"additionalProperties": false
	}`)

	inventoriesPutSchema = bodySchema(inventoriesPart)

	inventoryPutSchema = bodySchema(`{
		"type": "object",
		"properties": {` + inventoryProperties + `},
		"required": ["total", "resource_provider_generation"],
		"additionalProperties": false
	}`)
)
