package computeapi

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// What a host has is inventory.Host in JSON, its devices are compute.Device.
const (
	anyCountPart = `{"type": "integer", "minimum": 0, "maximum": 2147483647}`
	nodePart     = `"id": ` + uuidPart + `, "name": ` + textPart + `, "type": ` + textPart + `, "version": ` + anyCountPart + `,
		"address": {"type": "string", "maxLength": 255}, "vcpus": ` + anyCountPart + `, "memory_mb": ` + anyCountPart + `,
		"disk_gb": ` + anyCountPart + `, "cpu_info": {"type": "object"}, "devices": ` + pciDevicesPart
	pciDevicesPart = `{"type": "array", "maxItems": 4096, "items": {"type": "object", "properties": {"slot": ` + shortPart + `, "vendor": ` + shortPart + `,
		"physical_network": ` + shortPart + `, "parent": ` + shortPart + `, "whole": {"type": "boolean"}},
		"required": ["slot"], "additionalProperties": false}}`
	shortPart  = `{"type": "string", "maxLength": 255}`
	ratioPart  = `{"type": "number", "minimum": 0}`
	symbolPart = `{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[A-Z0-9_]+$"}`
	traitsPart = `{"type": ["array", "null"], "maxItems": 4096, "items": ` + symbolPart + `}`
	unitPart   = `{"type": "integer", "minimum": 1, "maximum": 2147483647}`
	amountPart = `{"type": "object", "properties": {"total": ` + anyCountPart + `, "reserved": ` + anyCountPart + `, "allocation_ratio": ` + ratioPart + `,
		"initial_allocation_ratio": ` + ratioPart + `}, "required": ["total", "initial_allocation_ratio"], "additionalProperties": false}`
	extraPart = `{"type": "object", "properties": {"total": ` + unitPart + `, "reserved": ` + anyCountPart + `, "min_unit": ` + unitPart + `,
		"max_unit": ` + unitPart + `, "step_size": ` + unitPart + `, "allocation_ratio": ` + ratioPart + `}, "required": ["total"], "additionalProperties": false}`
	hostDevicePart = `{"type": "object", "properties": {"name": ` + textPart + `, "resource_class": ` + symbolPart + `, "total": ` + anyCountPart + `,
		"traits": ` + traitsPart + `}, "required": ["name", "resource_class", "total"], "additionalProperties": false}`
	additionalPart = `{"type": "object", "properties": {"uuid": ` + shortPart + `, "name": ` + shortPart + `, "traits": ` + traitsPart + `, "file": ` + shortPart + `,
		"inventories": {"type": "object", "patternProperties": {"^[A-Z0-9_]+$": ` + extraPart + `}, "additionalProperties": false}},
		"required": ["file"], "additionalProperties": false}`
	inventoryPart = `"vcpu": ` + amountPart + `, "pcpu": ` + amountPart + `, "memory_mb": ` + amountPart + `, "disk_gb": ` + amountPart + `,
		"traits": ` + traitsPart + `, "knows_cpu": {"type": "boolean"}, "devices": {"type": "array", "maxItems": 4096, "items": ` + hostDevicePart + `},
		"additional": {"type": "array", "maxItems": 4096, "items": ` + additionalPart + `}`
)

var reportSchema = bodySchema("host", objectPart(`"host": `+hostPart+`, "version": `+anyCountPart+`,
		"node": `+objectPart(nodePart, `"id", "name", "type"`)+`, "inventory": `+objectPart(inventoryPart, `"vcpu", "pcpu", "memory_mb", "disk_gb"`)+`,
		"unknown_servers": {"type": "array", "maxItems": 4096, "items": `+uuidPart+`}`,
	`"host", "version", "node"`))

// takeReport takes what a host says of itself, which is that it is alive, and brings what it
// has into placement. That placement cannot take it is in the answer, and no failure.
func (q *request) takeReport() error {
	v, err := q.checked(reportSchema, "host")
	if err != nil {
		return err
	}
	if err := q.mayReport(); err != nil {
		return err
	}
	if !v.IsFinite() { // it is kept as JSON
		return badRequest("host: a number is not finite")
	}
	version, _ := v.Get("version")
	node, _ := v.Get("node")
	r := compute.Report{Host: *textOf(v, "host"), Version: int(number(version)), Node: nodeIn(node)}
	unknown, _ := v.Get("unknown_servers")
	for _, id := range unknown.Items() {
		r.Unknown = append(r.Unknown, compute.ID(strings.ToLower(id.Str())))
	}
	has, err := inventoryIn(v, r.Node)
	if err != nil {
		return err
	}
	if err := q.api.Compute.Report(q.Context(), r); err != nil {
		return err
	}
	var synced, trouble any
	var warnings []string
	if has != nil {
		warnings, err = q.api.Compute.KeepTree(q.Context(), r.Host, *has)
		if synced = err == nil; err != nil {
			trouble = err.Error()
		}
	}
	return q.respond(http.StatusOK, members("host", members("resources_synced", synced, "sync_error", trouble,
		"warnings", array(warnings, func(j *httpapi.JSON, w string) { j.String(w) }))))
}

// inventoryIn is what a host says that it has, nil if it does not say.
func inventoryIn(v pyjson.Value, node compute.NodeRow) (*inventory.Host, error) {
	said, ok := v.Get("inventory")
	if !ok {
		return nil, nil
	}
	var has inventory.Host
	if err := json.Unmarshal(textIn(said), &has); err != nil {
		return nil, badRequest("inventory: %v", err)
	}
	id, err := guarantee.ParseUUID(string(node.ID))
	if err != nil {
		return nil, badRequest("id of the node: %v", err)
	}
	has.ID, has.Name = id, node.Name
	for _, a := range has.Additional {
		if (a.ID == "") == (a.Name == "") {
			return nil, badRequest("inventory: want either a uuid or a name for what %s adds", a.File)
		}
	}
	return &has, nil
}

// textIn is a value as JSON text.
func textIn(v pyjson.Value) []byte {
	return httpapi.JSONText(func(j *httpapi.JSON) { j.Value(v) })
}

func nodeIn(v pyjson.Value) compute.NodeRow {
	node := compute.NodeRow{CPU: []byte("{}")}
	for _, m := range v.Members() {
		switch text := m.Value.Str(); m.Key {
		case "id":
			node.ID = compute.ID(strings.ToLower(text))
		case "name":
			node.Name = text
		case "type":
			node.Type = text
		case "version":
			node.Version = int(number(m.Value))
		case "address":
			node.Address = text
		case "vcpus":
			node.VCPUs = number(m.Value)
		case "memory_mb":
			node.MemoryMB = number(m.Value)
		case "disk_gb":
			node.DiskGB = number(m.Value)
		case "cpu_info":
			node.CPU = textIn(m.Value)
		case "devices":
			node.Devices = textIn(m.Value)
		}
	}
	return node
}
