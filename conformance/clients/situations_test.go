package clients

import (
	"github.com/berthcloud/berth/internal/rest"
)

// situations prepare a place so that a write gets the status of the list.
var situations = map[string]func(*place){
	"DELETE /allocations/{uuid} 204": (*place).claim,
	"DELETE /allocations/{uuid} 404": nothing,

	"DELETE /resource_classes/{name} 204": nothing,
	"DELETE /traits/{name} 204":           (*place).bareTrait,

	"DELETE /resource_providers/{uuid} 204":                     (*place).leaf,
	"DELETE /resource_providers/{uuid} 404":                     (*place).absent,
	"DELETE /resource_providers/{uuid} 409":                     (*place).heldLeaf,
	"DELETE /resource_providers/{uuid}/inventories/{class} 204": nothing,
	"DELETE /resource_providers/{uuid}/inventories/{class} 409": (*place).claim,
	"DELETE /resource_providers/{uuid}/traits 204":              nothing,

	"POST /allocations 204":        (*place).move,
	"POST /reshaper 204":           (*place).reshape,
	"POST /resource_classes 201":   (*place).newClass,
	"POST /resource_providers 200": (*place).newProvider,
	"POST /resource_providers 201": (*place).newProvider,

	"PUT /allocations/{uuid} 204": func(p *place) { p.body = p.allocations(nil, 1) },
	"PUT /allocations/{uuid} 409": func(p *place) { p.body = p.allocations(nil, 9) },

	"PUT /resource_classes/{name} 201":   func(p *place) { p.name = p.class + "_NEW" },
	"PUT /resource_providers/{uuid} 200": (*place).rename,
	"PUT /resource_providers/{uuid} 404": func(p *place) { p.rename(); p.absent() },

	"PUT /resource_providers/{uuid}/aggregates 200": (*place).aggregates,
	"PUT /resource_providers/{uuid}/inventories 200": func(p *place) {
		p.body = rest.Inventories(1, rest.Resources{"VCPU": 16})
	},
	"PUT /resource_providers/{uuid}/inventories/{class} 200": func(p *place) {
		p.body = rest.Object{"resource_provider_generation": 1, "total": 16}
	},
	"PUT /resource_providers/{uuid}/traits 200": func(p *place) { p.body = p.traits(1) },

	"PUT /traits/{name} 201": func(p *place) { p.name = p.trait + "_NEW" },
	"PUT /traits/{name} 204": nothing,
}

func nothing(*place) {}

func (p *place) absent() { p.uuid = p.missing }

// leaf makes the request about the interface, which can be deleted.
func (p *place) leaf() { p.uuid = p.nic }

func (p *place) heldLeaf() {
	p.claim()
	p.leaf()
}

// bareTrait takes the trait from the provider that has it.
func (p *place) bareTrait() {
	p.c.Must(p.t, 204, "DELETE", "/resource_providers/"+p.nic+"/traits", nil)
}

func (p *place) newClass() { p.body = rest.Object{"name": p.class + "_NEW"} }

func (p *place) newProvider() {
	p.body = rest.Object{"name": "agent of " + p.host, "uuid": p.missing}
	if p.since(14) {
		p.body = rest.Object{"name": "agent of " + p.host, "uuid": p.missing, "parent_provider_uuid": p.host}
	}
}

func (p *place) rename() {
	p.body = rest.Object{"name": "renamed " + p.host}
	if p.since(14) {
		p.body = rest.Object{"name": "renamed " + p.host, "parent_provider_uuid": nil}
	}
}

func (p *place) aggregates() {
	list := []string{p.aggr}
	p.body = list
	if p.since(19) {
		p.body = rest.Object{"resource_provider_generation": 1, "aggregates": list}
	}
}

// move moves a server's allocations to its migration, as Nova does.
func (p *place) move() {
	p.claim()
	deleted := p.allocations(1, 1)
	deleted["allocations"] = rest.Object{}
	p.body = rest.Object{p.consumer: deleted, p.missing: p.allocations(nil, 1)}
}

// reshape moves the host's processors, and their allocations, to a child.
func (p *place) reshape() {
	p.claim()
	inventories := rest.Object{
		p.host: rest.Inventories(2, rest.Resources{"MEMORY_MB": 1024, "DISK_GB": 100}),
		p.nic:  rest.Inventories(3, rest.Resources{"VCPU": 8, "NET_BW_EGR_KILOBIT_PER_SEC": 1000}),
	}
	moved := rest.Allocations(1, map[string]rest.Resources{
		p.host: {"MEMORY_MB": 64},
		p.nic:  {"VCPU": 1, "NET_BW_EGR_KILOBIT_PER_SEC": 100},
	})
	p.body = rest.Object{"inventories": inventories, "allocations": rest.Object{p.consumer: moved}}
}
