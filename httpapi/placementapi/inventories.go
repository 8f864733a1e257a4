package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/placement"
)

func (a *API) inventoryRoutes() []httpapi.Route {
	const all, one = "/resource_providers/{uuid}/inventories", "/resource_providers/{uuid}/inventories/{resource_class}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: all, Produces: true, Handle: a.guarded(policyInventoriesList, a.getInventories)},
		{Method: http.MethodPost, Pattern: all, NeedsJSON: true, Handle: a.guarded(policyInventoriesCreate, a.addInventory)},
		{Method: http.MethodPut, Pattern: all, NeedsJSON: true, Handle: a.guarded(policyInventoriesUpdate, a.setInventories)},
		{Method: http.MethodDelete, Pattern: all, Since: 5, Hidden: http.StatusMethodNotAllowed, Handle: a.guarded(policyInventoriesDelete, a.deleteInventories)},
		{Method: http.MethodGet, Pattern: one, Produces: true, Handle: a.guarded(policyInventoriesShow, a.getInventory)},
		{Method: http.MethodPut, Pattern: one, NeedsJSON: true, Handle: a.guarded(policyInventoriesUpdate, a.updateInventory)},
		{Method: http.MethodDelete, Pattern: one, Handle: a.guarded(policyInventoriesDelete, a.deleteInventory)},
	}
}

// inventoryRule is what the version of a request asks of inventories.
func inventoryRule(r *http.Request) placement.InventoryRule {
	return placement.InventoryRule{MayBeFull: minor(r) >= 26}
}

// readInventory takes an inventory from JSON; what is not said has its default.
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

// readInventories takes the inventories by class from JSON, in their order.
func readInventories(v pyjson.Value) []placement.InventoryOf {
	invs := make([]placement.InventoryOf, 0, v.Len())
	for _, m := range v.Members() {
		invs = append(invs, placement.InventoryOf{Class: m.Key, Inventory: readInventory(m.Value)})
	}
	return invs
}

// getInventories shows all that a provider offers.
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

// addInventory adds inventory of one class.
func (a *API) addInventory(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoryPostSchema(minor(r)))
	if err != nil {
		return err
	}
	inv := placement.InventoryOf{Class: member(v, "resource_class").Str(), Inventory: readInventory(v)}
	g, err := a.Placement.AddInventory(ctx, p.UUID, inv, inventoryRule(r))
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.AbsoluteURL(r, providerPath(p.UUID)+"/inventories/"+inv.Class))
	return a.respondInventory(w, r, http.StatusCreated, inv.Inventory, v, g, time.Time{})
}

// setInventories replaces all that a provider offers. Since 1.26 all of an
// inventory may be reserved.
func (a *API) setInventories(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoriesPutSchema(minor(r)))
	if err != nil {
		return err
	}
	sent := member(v, "inventories")
	invs := readInventories(sent)
	rule := inventoryRule(r)
	seen := generation(v)
	rule.Generation = &seen
	g, err := a.Placement.SetInventories(ctx, p.UUID, invs, rule)
	if err != nil {
		return err
	}
	var now time.Time // none with an empty list
	if len(invs) > 0 {
		now = a.Now()
	}
	return a.respondInventories(w, r, invs, sent, g, now)
}

// deleteInventories removes all that a provider offers. Exists since 1.5.
func (a *API) deleteInventories(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.Placement.DeleteInventories(ctx, placement.UUID(httpapi.Param(r, "uuid"))); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getInventory shows what a provider offers of one class.
func (a *API) getInventory(w http.ResponseWriter, r *http.Request) error {
	uuid, class := httpapi.Param(r, "uuid"), httpapi.Param(r, "resource_class")
	p, _, snapshot, err := a.provider(r)
	if err != nil {
		return notFound(err, "No resource provider with uuid "+uuid+" found : ")
	}
	id, ok := snapshot.Class(class)
	stock := p.Inventory(id)
	if !ok || stock == nil {
		return httpapi.Trapped(fault.New(fault.NotFound, "", "No inventory of class %s for %s", class, uuid))
	}
	return a.respondInventory(w, r, http.StatusOK, *stock.Inventory, pyjson.Value{}, p.Generation, stock.Modified.Time())
}

// updateInventory changes the inventory of one class.
func (a *API) updateInventory(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	v, err := readJSON(r, inventoryPutSchema(minor(r)))
	if err != nil {
		return err
	}
	inv := placement.InventoryOf{Class: httpapi.Param(r, "resource_class"), Inventory: readInventory(v)}
	rule := inventoryRule(r)
	seen := generation(v)
	rule.Generation = &seen
	g, err := a.Placement.UpdateInventory(ctx, p.UUID, inv, rule)
	if err != nil {
		return err
	}
	return a.respondInventory(w, r, http.StatusOK, inv.Inventory, v, g, time.Time{})
}

// deleteInventory removes the inventory of one class.
func (a *API) deleteInventory(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, _, _, err := a.provider(r)
	if err != nil {
		return err
	}
	if err := a.Placement.DeleteInventory(ctx, p.UUID, httpapi.Param(r, "resource_class")); err != nil {
		return httpapi.Trapped(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// respondInventories answers with all inventories of a provider, with numbers
// spelled as they were sent, if they were. Upstream sends no time with an empty
// list.
func (a *API) respondInventories(w http.ResponseWriter, r *http.Request, invs []placement.InventoryOf, sent pyjson.Value, g placement.Generation, modified time.Time) error {
	a.modifiedIfKnown(w, r, modified)
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("resource_provider_generation")
		j.Int(int64(g))
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

// respondInventory answers with one inventory. Upstream leaves out a generation
// of 0.
func (a *API) respondInventory(w http.ResponseWriter, r *http.Request, status int, inv placement.Inventory, sent pyjson.Value, g placement.Generation, modified time.Time) error {
	a.modified(w, r, modified)
	return httpapi.Respond(w, status, func(j *httpapi.JSON) {
		j.Object()
		writeInventory(j, inv, sent)
		if g != 0 {
			j.Key("resource_provider_generation")
			j.Int(int64(g))
		}
		j.EndObject()
	})
}

// writeInventory writes the fields of an inventory. Those that the client sent
// keep their spelling: an answer to a write says 1 where 1 was sent, and 1.0
// where that was.
func writeInventory(j *httpapi.JSON, inv placement.Inventory, sent pyjson.Value) {
	writeField(j, "total", inv.Total, sent)
	writeField(j, "reserved", inv.Reserved, sent)
	writeField(j, "min_unit", inv.MinUnit, sent)
	writeField(j, "max_unit", inv.MaxUnit, sent)
	writeField(j, "step_size", inv.StepSize, sent)
	j.Key("allocation_ratio")
	if ratio, ok := sent.Get("allocation_ratio"); ok {
		writeNumber(j, ratio)
		return
	}
	j.Float(inv.AllocationRatio)
}

func writeField(j *httpapi.JSON, key string, n int64, sent pyjson.Value) {
	j.Key(key)
	if as, ok := sent.Get(key); ok {
		writeNumber(j, as)
		return
	}
	j.Int(n)
}

func writeNumber(j *httpapi.JSON, v pyjson.Value) {
	if v.Kind() == pyjson.Int {
		j.Raw(pyjson.AppendRepr(nil, v)) // with all its digits
		return
	}
	j.Float(v.Float64())
}
