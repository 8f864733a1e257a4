package fleetapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

// A report is compute.Report in JSON; the devices of its node are compute.Device.
const (
	anyCountPart = `{"type": "integer", "minimum": 0, "maximum": 2147483647}`
	nodePart     = `"id": ` + wire.UUIDPart + `, "name": ` + wire.TextPart + `, "type": ` + wire.TextPart + `, "version": ` + anyCountPart + `,
		"address": {"type": "string", "maxLength": 255}, "vcpus": ` + anyCountPart + `, "memory_mb": ` + anyCountPart + `,
		"disk_gb": ` + anyCountPart + `, "cpu_info": {"type": "object"}, "devices": ` + pciDevicesPart + `, "topology": ` + topologyPart
	pciDevicesPart = `{"type": "array", "maxItems": 4096, "items": {"type": "object", "properties": {"slot": ` + shortPart + `, "vendor": ` + shortPart + `,
		"physical_network": ` + shortPart + `, "parent": ` + shortPart + `, "whole": {"type": "boolean"}},
		"required": ["slot"], "additionalProperties": false}}`
	topologyPart = `{"type": "object", "properties": {
		"nodes": {"type": "array", "maxItems": 1024, "items": ` + nodeTopologyPart + `},
		"reported": {"type": "boolean"}, "excluded": {"type": "boolean"},
		"cpu_ratio": ` + ratioPart + `, "memory_ratio": ` + ratioPart + `,
		"pci_devices": {"type": "object", "patternProperties": {"^[0-9a-f:.]+$": ` + anyCountPart + `}, "additionalProperties": false}},
		"required": ["nodes"],
		"additionalProperties": false}`
	nodeTopologyPart = `{"type": "object", "properties": {"id": ` + anyCountPart + `, "cpus": ` + numbersPart + `,
		"cores": {"type": "array", "maxItems": 65536, "items": ` + numbersPart + `},
		"socket": {"type": "integer", "minimum": -1, "maximum": 2147483647},
		"memory_mb": ` + anyCountPart + `, "distances": ` + numbersPart + `,
		"shared": ` + numbersPart + `, "dedicated": ` + numbersPart + `,
		"pages": {"type": "array", "maxItems": 64, "items": ` + hostPagesPart + `}}, "required": ["id"],
		"additionalProperties": false}`
	hostPagesPart = `{"type": "object", "properties": {"size_kb": ` + sizePart + `, "total": ` + largeCountPart + `,
		"reserved": ` + largeCountPart + `}, "required": ["size_kb", "total"], "additionalProperties": false}`
	numbersPart    = `{"type": ["array", "null"], "maxItems": 65536, "items": ` + anyCountPart + `}`
	sizePart       = `{"type": "integer", "minimum": 1, "maximum": 1099511627776}`
	largeCountPart = `{"type": "integer", "minimum": 0, "maximum": 1099511627776}`
	numaNodesPart  = `{"type": "array", "maxItems": 1024, "items": {"type": "object",
		"properties": {"id": ` + anyCountPart + `, "vcpu": ` + amountPart + `, "pcpu": ` + amountPart + `,
		"pages": {"type": "array", "maxItems": 64, "items": ` + pagesPart + `}},
		"required": ["id", "vcpu", "pcpu"], "additionalProperties": false}}`
	pagesPart = `{"type": "object", "properties": {"size_kb": ` + sizePart + `, "small": {"type": "boolean"},
		` + amountParts + `}, "required": ["size_kb", "total", "initial_allocation_ratio"], "additionalProperties": false}`
	shortPart   = `{"type": "string", "maxLength": 255}`
	ratioPart   = `{"type": "number", "minimum": 0}`
	symbolPart  = `{"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[A-Z0-9_]+$"}`
	traitsPart  = `{"type": ["array", "null"], "maxItems": 4096, "items": ` + symbolPart + `}`
	unitPart    = `{"type": "integer", "minimum": 1, "maximum": 2147483647}`
	amountParts = `"total": ` + anyCountPart + `, "reserved": ` + anyCountPart + `, "allocation_ratio": ` + ratioPart + `,
		"initial_allocation_ratio": ` + ratioPart
	amountPart = `{"type": "object", "properties": {` + amountParts +
		`}, "required": ["total", "initial_allocation_ratio"], "additionalProperties": false}`
	extraPart = `{"type": "object", "properties": {"total": ` + unitPart + `, "reserved": ` + anyCountPart + `, "min_unit": ` + unitPart + `,
		"max_unit": ` + unitPart + `, "step_size": ` + unitPart + `, "allocation_ratio": ` + ratioPart + `}, "required": ["total"], "additionalProperties": false}`
	hostDevicePart = `{"type": "object", "properties": {"name": ` + wire.TextPart + `, "resource_class": ` + symbolPart + `, "total": ` + anyCountPart + `,
		"traits": ` + traitsPart + `, "mdev_type": ` + shortPart + `,
		"addresses": {"type": "array", "maxItems": 4096, "items": ` + shortPart + `}},
		"required": ["name", "resource_class", "total"], "additionalProperties": false}`
	additionalPart = `{"type": "object", "properties": {"uuid": ` + shortPart + `, "name": ` + shortPart + `, "traits": ` + traitsPart + `, "file": ` + shortPart + `,
		"inventories": {"type": "object", "patternProperties": {"^[A-Z0-9_]+$": ` + extraPart + `}, "additionalProperties": false}},
		"required": ["file"], "additionalProperties": false}`
	inventoryPart = `"vcpu": ` + amountPart + `, "pcpu": ` + amountPart + `, "memory_mb": ` + amountPart + `, "disk_gb": ` + amountPart + `,
		"traits": ` + traitsPart + `, "knows_cpu": {"type": "boolean"}, "devices": {"type": "array", "maxItems": 4096, "items": ` + hostDevicePart + `},
		"numa_nodes": ` + numaNodesPart + `, "pci_in_placement": {"type": "boolean"},
		"additional": {"type": "array", "maxItems": 4096, "items": ` + additionalPart + `},
		"units": {"type": ["object", "null"], "patternProperties": {"^[0-9a-f-]{36}$": {"type": "array", "maxItems": 4096,
		"items": ` + unitsPart + `}}, "additionalProperties": false}`
	unitsPart = `{"type": "object", "properties": {"device": ` + wire.TextPart + `, "resource_class": ` + symbolPart + `,
		"count": ` + unitPart + `}, "required": ["device", "resource_class", "count"], "additionalProperties": false}`
)

var reportSchema = wire.BodySchema("host", wire.ObjectPart(`"host": `+wire.HostPart+`, "version": `+anyCountPart+`,
		"node": `+wire.ObjectPart(nodePart, `"id", "name", "type"`)+`, "inventory": `+wire.ObjectPart(inventoryPart, `"vcpu", "pcpu", "memory_mb", "disk_gb"`)+`,
		"starting": {"type": "boolean"}, "dry_run": {"type": "boolean"}, "unknown_servers": {"type": "array", "maxItems": 4096, "items": `+wire.UUIDPart+`}`,
	`"host", "version", "node"`))

// takeReport records the report of a host, which shows that it is alive, and syncs what it
// has with placement. A failure of the sync is in the answer, and the report is still accepted.
func takeReport(q *wire.Request) error {
	if err := cmp.Or(q.Can(hostRule, wire.CloudTarget), httpapi.CheckIsHost(q.Context())); err != nil {
		return err
	}
	v, err := q.CheckMember(reportSchema, "host")
	if err != nil {
		return err
	}
	if !v.IsFinite() { // it is stored as JSON
		return wire.BadRequest("host: a number is not finite")
	}
	r, err := reportIn(v)
	if err := cmp.Or(err, httpapi.CheckHost(q.Context(), r.Host)); err != nil {
		return err
	}
	if r.DryRun {
		return previewReport(q, r)
	}
	r.Hosts = q.Caller.Hosts
	if err := q.API.Fleet.Report(q.Context(), r); err != nil {
		return err
	}
	synced, failure := view.Null("resources_synced"), view.Null("sync_error")
	var warnings []string
	if r.Inventory != nil {
		warnings, err = q.API.Fleet.SyncTree(q.Context(), r.Host, *r.Inventory, r.Starting)
		synced = view.Bool("resources_synced", err == nil)
		if err != nil {
			failure = view.Text("sync_error", err.Error())
		}
	}
	return q.Respond(http.StatusOK, wire.Single("host", view.Object{synced, failure, view.Texts("warnings", warnings)}))
}

// previewReport answers with what a report would change in placement.
func previewReport(q *wire.Request, r compute.Report) error {
	if r.Inventory == nil {
		return wire.BadRequest("host: a dry run needs an inventory")
	}
	lines, err := q.API.Fleet.PreviewTree(q.Context(), r.Host, *r.Inventory)
	failure := view.Null("sync_error")
	if err != nil {
		failure = view.Text("sync_error", err.Error())
	}
	return q.Respond(http.StatusOK, wire.Single("host", view.Object{
		view.Null("resources_synced"), failure, view.Texts("warnings", []string{}), view.Texts("plan", lines),
	}))
}

// reportIn is a report that keeps to the schema.
func reportIn(v pyjson.Value) (r compute.Report, err error) {
	if err := json.Unmarshal(textIn(v), &r); err != nil {
		return r, wire.BadRequest("host: %v", err)
	}
	r.Node.ID = compute.ID(strings.ToLower(string(r.Node.ID)))
	for i, id := range r.Unknown {
		r.Unknown[i] = compute.ID(strings.ToLower(string(id)))
	}
	if r.Node.CPU == nil {
		r.Node.CPU = []byte("{}")
	}
	if r.Inventory == nil {
		return r, nil
	}
	if r.Inventory.ID, err = guarantee.ParseUUID(string(r.Node.ID)); err != nil {
		return r, wire.BadRequest("id of the node: %v", err)
	}
	r.Inventory.Name = r.Node.Name
	for _, a := range r.Inventory.Additional {
		if (a.ID == "") == (a.Name == "") {
			return r, wire.BadRequest("inventory: want either a uuid or a name for what %s adds", a.File)
		}
	}
	if twice := duplicateNode(r.Inventory.Nodes); twice != "" {
		return r, wire.BadRequest("inventory: %s is there twice", twice)
	}
	return r, nil
}

// duplicateNode names a NUMA node, or pages of one, that are several times in a report; "" for
// none.
func duplicateNode(nodes []inventory.Node) string {
	seen := map[[2]int64]bool{}
	for _, n := range nodes {
		if seen[[2]int64{int64(n.ID), 0}] {
			return fmt.Sprintf("the NUMA node %d", n.ID)
		}
		seen[[2]int64{int64(n.ID), 0}] = true
		for _, p := range n.Pages {
			if seen[[2]int64{int64(n.ID), p.SizeKB}] {
				return fmt.Sprintf("the memory of the NUMA node %d in pages of %d kB", n.ID, p.SizeKB)
			}
			seen[[2]int64{int64(n.ID), p.SizeKB}] = true
		}
	}
	return ""
}

// textIn is a value as JSON text.
func textIn(v pyjson.Value) []byte {
	return httpapi.JSONText(func(j *httpapi.JSON) { j.Value(v) })
}
