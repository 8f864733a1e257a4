package serversapi

import (
	"strings"

	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyschema"
)

const (
	addressPart = `{"type": "string", "oneOf": [{"format": "ipv4"}, {"format": "ipv6"}]}`
	tagPart     = `{"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[^,/]*$"}`
	textsPart   = `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": "string", "maxLength": 255}},
		"additionalProperties": false}`
	sizeTextPart = `{"type": ["integer", "string"], "pattern": "^[0-9]+$", "minimum": 1, "maximum": 2147483647}`
	longPart     = `{"type": "string", "maxLength": 255}`

	// Devices are refused by what is done with them, not by their form.
	deviceParts = `"virtual_name": ` + longPart + `, "volume_id": ` + wire.UUIDPart + `, "snapshot_id": ` + wire.UUIDPart + `,
		"volume_size": ` + sizeTextPart + `, "device_name": {"type": "string", "minLength": 1, "maxLength": 255},
		"delete_on_termination": ` + wire.BooleanPart + `, "no_device": {}, "connection_info": {"type": "string", "maxLength": 16777215}`
	device2Parts = deviceParts + `, "source_type": {"type": "string", "enum": ["volume", "image", "snapshot", "blank"]},
		"uuid": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[a-zA-Z0-9._-]*$"}, "image_id": ` + wire.UUIDPart + `,
		"destination_type": {"type": "string", "enum": ["local", "volume"]}, "guest_format": ` + longPart + `, "device_type": ` + longPart + `,
		"disk_bus": ` + longPart + `, "boot_index": {"type": ["integer", "string", "null"], "pattern": "^-?[0-9]+$"}`

	hintsPart = `{"type": "object", "properties": {
		"group": ` + wire.UUIDPart + `,
		"different_host": {"oneOf": [` + wire.UUIDPart + `, {"type": "array", "items": ` + wire.UUIDPart + `}]},
		"same_host": {"type": ["string", "array"], "items": ` + wire.UUIDPart + `},
		"query": {"type": ["string", "object"]},
		"target_cell": ` + wire.NamePart + `,
		"different_cell": {"type": ["string", "array"], "items": {"type": "string"}},
		"build_near_host_ip": ` + addressPart + `,
		"cidr": {"type": "string", "pattern": "^/[0-9a-f.:]+$"}}, "additionalProperties": true}`
)

// filesPart is what may be put into a server before 2.57, and certificatesPart names what its image
// is checked with since 2.63.
var (
	filesPart = `"personality": {"type": "array", "items": ` +
		wire.ObjectPart(`"path": `+wire.StringPart+`, "contents": {"type": "string", "format": "base64"}`, "") + `}`
	certificatesPart = `"trusted_image_certificates": {"type": ["array", "null"], "minItems": 1, "maxItems": 50, "uniqueItems": true,
		"items": {"type": "string", "minLength": 1}}`
)

// networksPart is the schema of the networks of a new server. There is a tag for
// each at 2.32 to 2.36 and since 2.42; a word stands for the whole list since 2.37.
func networksPart(minor int) string {
	network := wire.StringPart
	if minor >= 37 {
		network = wire.UUIDPart
	}
	parts := `"fixed_ip": ` + addressPart + `, "port": {"oneOf": [` + wire.UUIDPart + `, {"type": "null"}]}, "uuid": ` +
		network
	if minor >= 32 && minor < 37 || minor >= 42 {
		parts += `, "tag": ` + tagPart
	}
	list := `{"type": "array", "items": ` + wire.ObjectPart(parts, "") + `}`
	if minor >= 37 {
		return `{"oneOf": [` + list + `, {"type": "string", "enum": ["none", "auto"]}]}`
	}
	return list
}

// devicesPart is the schema of the second form of block devices.
func devicesPart(minor int) string {
	parts := device2Parts
	if minor == 32 || minor >= 42 {
		parts += `, "tag": ` + tagPart
	}
	if minor >= 67 {
		parts += `, "volume_type": {"type": ["string", "null"], "minLength": 0, "maxLength": 255}`
	}
	return `{"type": "array", "items": ` + wire.ObjectPart(parts, "") + `}`
}

// hostnamePart is the schema of the host name of a server, which may have a domain since 2.94.
func hostnamePart(minor int) string {
	if minor >= 94 {
		return wire.HostPart
	}
	return wire.HostnamePart
}

// newServerSchema is for the body of POST /servers at a version.
func newServerSchema(minor int) *pyschema.Schema {
	parts := []string{
		`"name": ` + wire.NamePart,
		`"imageRef": {"oneOf": [` + wire.UUIDPart + `, {"type": "string", "maxLength": 0}]}`,
		`"flavorRef": {"type": ["string", "integer"], "minLength": 1}`,
		`"adminPass": ` + wire.StringPart,
		`"metadata": ` + textsPart,
		`"networks": ` + networksPart(minor),
		`"OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]}`,
		`"accessIPv4": {"type": "string", "format": "ipv4"}`,
		`"accessIPv6": {"type": "string", "format": "ipv6"}`,
	}
	if minor < 57 {
		parts = append(parts, filesPart)
	}
	parts = append(parts, `"availability_zone": `+wire.NamePart,
		`"block_device_mapping": {"type": "array", "items": `+wire.ObjectPart(deviceParts, "")+`}`,
		`"block_device_mapping_v2": `+devicesPart(minor),
		`"config_drive": `+wire.BooleanPart, `"key_name": `+wire.NamePart, `"min_count": `+wire.PositivePart,
		`"max_count": `+wire.PositivePart,
		`"return_reservation_id": `+wire.BooleanPart,
		`"security_groups": {"type": "array", "items": `+wire.ObjectPart(`"name": `+wire.NamePart, "")+`}`,
		`"user_data": {"type": "string", "format": "base64", "maxLength": 65535}`)
	if minor >= 19 {
		parts = append(parts, `"description": `+shortTextPart)
	}
	if minor >= 52 {
		parts = append(parts, `"tags": {"type": "array", "items": `+tagPart+`, "maxItems": 50}`)
	}
	if minor >= 63 {
		parts = append(parts, certificatesPart)
	}
	if minor >= 74 {
		parts = append(parts, `"host": `+wire.HostPart, `"hypervisor_hostname": `+wire.HostPart)
	}
	if minor >= 90 {
		parts = append(parts, `"hostname": `+hostnamePart(minor))
	}
	required := `"name", "flavorRef"`
	if minor >= 37 {
		required += `, "networks"`
	}
	return wire.Draft4.MustCompile(`{"type": "object", "properties": {
		"server": ` + wire.ObjectPart(strings.Join(parts, ", "), required) + `,
		"os:scheduler_hints": ` + hintsPart + `, "OS-SCH-HNT:scheduler_hints": ` + hintsPart + `},
		"required": ["server"], "additionalProperties": false}`)
}

// serverCreateSchema is for the body of POST /servers, which these versions changed.
var serverCreateSchema = wire.ByVersion(newServerSchema, 94, 90, 74, 67, 63, 57, 52, 42, 37, 33, 32, 19, 1)
