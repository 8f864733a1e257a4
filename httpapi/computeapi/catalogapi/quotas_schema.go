package catalogapi

import (
	"strings"

	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

const quotaPart = `{"type": ["integer", "string"], "pattern": "^-?[0-9]+$", "minimum": -1, "maximum": 2147483647}`

// quotaSchema is for limits of the resources of some groups. Nova does not require that they
// are an object.
func quotaSchema(key string, more string, groups ...string) *pyschema.Schema {
	var parts []string
	for _, group := range groups {
		for name := range strings.FieldsSeq(group) {
			parts = append(parts, `"`+name+`": `+quotaPart)
		}
	}
	return wire.BodySchema(key, `{"properties": {`+strings.Join(parts, ", ")+more+`}, "additionalProperties": false}`)
}

// The groups of resources, by which versions leave some out.
const (
	mainQuotas     = "instances cores ram metadata_items key_pairs server_groups server_group_members"
	networkQuotas  = "floating_ips fixed_ips security_groups security_group_rules networks"
	injectedQuotas = "injected_files injected_file_content_bytes injected_file_path_bytes"
	forcePart      = `, "force": ` + wire.BooleanPart
)

var (
	quotaUpdateSchema2_1  = quotaSchema("quota_set", forcePart, mainQuotas, networkQuotas, injectedQuotas)
	quotaUpdateSchema2_36 = quotaSchema("quota_set", forcePart, mainQuotas, injectedQuotas)
	quotaUpdateSchema2_57 = quotaSchema("quota_set", forcePart, mainQuotas)

	classUpdateSchema2_1  = quotaSchema("quota_class_set", "", mainQuotas, networkQuotas, injectedQuotas)
	classUpdateSchema2_50 = quotaSchema("quota_class_set", "", mainQuotas, injectedQuotas)
	classUpdateSchema2_57 = quotaSchema("quota_class_set", "", mainQuotas)

	quotasQuery = wire.NewQuery(false, "user_id", wire.Repeated(wire.StringPart))
	limitsQuery = wire.NewQuery(false, "tenant_id", wire.Repeated(wire.StringPart))
)

// quotaUpdateSchema is for the body of PUT /os-quota-sets/{project}.
func quotaUpdateSchema(minor int) *pyschema.Schema {
	switch {
	case minor >= 57:
		return quotaUpdateSchema2_57
	case minor >= 36:
		return quotaUpdateSchema2_36
	}
	return quotaUpdateSchema2_1
}

// classUpdateSchema is for the body of PUT /os-quota-class-sets/{class}.
func classUpdateSchema(minor int) *pyschema.Schema {
	switch {
	case minor >= 57:
		return classUpdateSchema2_57
	case minor >= 50:
		return classUpdateSchema2_50
	}
	return classUpdateSchema2_1
}
