package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/placement"
)

// inventoryRoutes returns the routes of a provider's inventories. DELETE of all is hidden by 405
// and not by 404, alone among the routes (status_code in upstream's version_handler).
func (a *API) inventoryRoutes() []httpapi.Route {
	const all, one = "/resource_providers/{uuid}/inventories", "/resource_providers/{uuid}/inventories/{resource_class}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: all, Produces: true, Handle: a.guarded(policyInventoriesList, a.getInventories)},
		{Method: http.MethodPost, Pattern: all, NeedsJSON: true, Handle: a.guarded(policyInventoriesCreate, a.addInventory)},
		{Method: http.MethodPut, Pattern: all, NeedsJSON: true, Handle: a.guarded(policyInventoriesUpdate, a.setInventories)},
		{
			Method: http.MethodDelete, Pattern: all, Since: 5, Hidden: http.StatusMethodNotAllowed,
			Handle: a.guarded(policyInventoriesDelete, a.deleteInventories),
		},
		{Method: http.MethodGet, Pattern: one, Produces: true, Handle: a.guarded(policyInventoriesShow, a.getInventory)},
		{
			Method: http.MethodPut, Pattern: one, NeedsJSON: true, Handle: a.guarded(policyInventoriesUpdate, a.updateInventory),
		},
		{Method: http.MethodDelete, Pattern: one, Handle: a.guarded(policyInventoriesDelete, a.deleteInventory)},
	}
}

// inventoryRule returns the rule for the version of a request: before 1.26 the reserved amount must
// be less than the total, since then it may be equal.
func inventoryRule(r *http.Request) placement.InventoryRule {
	return placement.InventoryRule{MayBeFull: minor(r) >= 26}
}

// readInventory decodes an inventory; absent members have upstream's defaults (INVENTORY_DEFAULTS).
func readInventory(v pyjson.Value) placement.Inventory {
	inv := placement.Inventory{
		Total:           number(v, "total", 0),
		Reserved:        number(v, "reserved", 0),
		MinUnit:         number(v, "min_unit", 1),
		MaxUnit:         number(v, "max_unit", placement.MaxInt),
		StepSize:        number(v, "step_size", 1),
		AllocationRatio: 1,
	}
	if ratio, ok := v.Get("allocation_ratio"); ok {
		inv.AllocationRatio = ratio.Float64()
	}
	return inv
}

// readInventories decodes inventories by resource class, in the order of the keys.
func readInventories(v pyjson.Value) []placement.InventoryOf {
	invs := make([]placement.InventoryOf, 0, v.Len())
	for _, m := range v.Members() {
		invs = append(invs, placement.InventoryOf{Class: m.Key, Inventory: readInventory(m.Value)})
	}
	return invs
}

// getInventories lists the inventories of a provider by resource class, with the provider's
// generation.
func (a *API) getInventories(w http.ResponseWriter, r *http.Request) error {
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return notFound(err, "No resource provider with uuid "+httpapi.Param(r, "uuid")+" found : ")
	}
	var newest time.Time
	invs := make([]placement.InventoryOf, len(p.Inventories))
	for i, s := range p.Inventories {
		invs[i] = placement.InventoryOf{Class: snapshot.ClassName(s.Class), Inventory: *s.Inventory}
		newest = later(newest, s.Modified.Time())
	}
	return a.respondInventories(w, r, invs, pyjson.Value{}, p.Generation, newest)
}

// addInventory adds an inventory of one class and answers 201 with its Location: 409 when the
// provider has one of the class, 400 when the class does not exist. In contrast to PUT, the client
// names no generation.
func (a *API) addInventory(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoryPostSchema)
	if err != nil {
		return err
	}
	inv := placement.InventoryOf{Class: member(v, "resource_class").Str(), Inventory: readInventory(v)}
	g, err := a.Placement.AddInventory(r.Context(), p.UUID, inv, inventoryRule(r))
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpserver.AbsoluteURL(r, providerPath(p.UUID)+"/inventories/"+inv.Class))
	return a.respondInventory(w, r, http.StatusCreated, inv.Inventory, v, g, time.Time{})
}

// setInventories replaces all inventories of a provider, which the client's generation guards. 409
// with the code placement.inventory.inuse when one with allocations would be removed. A capacity
// below the usage is accepted, as upstream does.
func (a *API) setInventories(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoriesPutSchema)
	if err != nil {
		return err
	}
	sent := member(v, "inventories")
	invs := readInventories(sent)
	rule := inventoryRule(r)
	seen := generation(v)
	rule.Generation = &seen
	g, err := a.Placement.SetInventories(r.Context(), p.UUID, invs, rule)
	if err != nil {
		return err
	}
	var now time.Time // none with an empty list
	if len(invs) > 0 {
		now = a.Now()
	}
	return a.respondInventories(w, r, invs, sent, g, now)
}

// deleteInventories removes all inventories of a provider and answers 204; 409 with the code
// placement.inventory.inuse when one has allocations. Exists since 1.5; earlier versions answer
// 405.
func (a *API) deleteInventories(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, a.Placement.DeleteInventories(r.Context(), placement.UUID(httpapi.Param(r, "uuid"))))
}

// getInventory shows the inventory of one class: 404 when the provider has none of it.
func (a *API) getInventory(w http.ResponseWriter, r *http.Request) error {
	uuid, class := httpapi.Param(r, "uuid"), httpapi.Param(r, "resource_class")
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return notFound(err, "No resource provider with uuid "+uuid+" found : ")
	}
	id, ok := snapshot.Class(class)
	inv := p.Inventory(id)
	if !ok || inv == nil {
		return httpapi.Trapped(fault.New(fault.NotFound, "", "No inventory of class %s for %s", class, uuid))
	}
	return a.respondInventory(w, r, http.StatusOK, *inv.Inventory, pyjson.Value{}, p.Generation, inv.Modified.Time())
}

// updateInventory replaces the inventory of one class, which the client's generation guards: 400
// when the provider has none of the class.
func (a *API) updateInventory(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoryPutSchema)
	if err != nil {
		return err
	}
	inv := placement.InventoryOf{Class: httpapi.Param(r, "resource_class"), Inventory: readInventory(v)}
	rule := inventoryRule(r)
	seen := generation(v)
	rule.Generation = &seen
	g, err := a.Placement.UpdateInventory(r.Context(), p.UUID, inv, rule)
	if err != nil {
		return err
	}
	return a.respondInventory(w, r, http.StatusOK, inv.Inventory, v, g, time.Time{})
}

// deleteInventory removes the inventory of one class and answers 204: 404 when there is none, 409
// when it has allocations.
func (a *API) deleteInventory(w http.ResponseWriter, r *http.Request) error {
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	return noContent(w,
		httpapi.Trapped(a.Placement.DeleteInventory(r.Context(), p.UUID, httpapi.Param(r, "resource_class"))))
}

// respondInventories answers with all inventories of a provider. After a write, sent has the body's
// inventories, whose numbers are repeated as they were spelled. Upstream sends no Last-Modified
// without inventories.
func (a *API) respondInventories(
	w http.ResponseWriter, r *http.Request, invs []placement.InventoryOf, sent pyjson.Value, g placement.Generation,
	modified time.Time,
) error {
	a.modifiedIfKnown(w, r, modified)
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.KeyInt("resource_provider_generation", int64(g))
		j.Key("inventories")
		j.Object()
		for _, inv := range invs {
			j.Key(inv.Class)
			j.Object()
			writeInventory(j, inv.Inventory, member(sent, inv.Class))
			j.EndObject()
		}
		j.EndObject()
		j.EndObject()
	})
}

// respondInventory answers with one inventory. Upstream omits a generation of 0, which is false in
// Python.
func (a *API) respondInventory(
	w http.ResponseWriter, r *http.Request, status int, inv placement.Inventory, sent pyjson.Value, g placement.Generation,
	modified time.Time,
) error {
	a.modified(w, r, modified)
	return httpapi.Respond(w, status, func(j *httpapi.JSON) {
		j.Object()
		writeInventory(j, inv, sent)
		if g != 0 {
			j.KeyInt("resource_provider_generation", int64(g))
		}
		j.EndObject()
	})
}

// writeInventory writes the members of an inventory. Those in sent are repeated as the client
// spelled them: upstream answers a write from the body, with 1 where 1 was sent and 1.0 where 1.0
// was.
func writeInventory(j *httpapi.JSON, inv placement.Inventory, sent pyjson.Value) {
	writeField(j, "total", inv.Total, sent)
	writeField(j, "reserved", inv.Reserved, sent)
	writeField(j, "min_unit", inv.MinUnit, sent)
	writeField(j, "max_unit", inv.MaxUnit, sent)
	writeField(j, "step_size", inv.StepSize, sent)
	j.Key("allocation_ratio")
	if ratio, ok := sent.Get("allocation_ratio"); ok {
		j.Value(ratio)
		return
	}
	j.Float(inv.AllocationRatio)
}

// writeField writes a number as sent spells it, and n when sent does not have it.
func writeField(j *httpapi.JSON, key string, n int64, sent pyjson.Value) {
	j.Key(key)
	if as, ok := sent.Get(key); ok {
		j.Value(as)
		return
	}
	j.Int(n)
}
