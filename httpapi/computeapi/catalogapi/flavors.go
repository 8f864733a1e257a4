package catalogapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func flavorRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/flavors", 1, func(q *wire.Request) error { return listFlavors(q, "flavors", flavorView) }),
		a.Route(http.MethodPost, "/flavors", 1, createFlavor),
		a.List("/flavors/detail", 1, func(q *wire.Request) error { return listFlavors(q, "flavors/detail", flavorDetail) }),
		a.Route(http.MethodGet, "/flavors/{flavor}", 1, wire.NoQuery(showFlavor)),
		a.Route(http.MethodPut, "/flavors/{flavor}", 55, describeFlavor),
		a.Route(http.MethodDelete, "/flavors/{flavor}", 1, deleteFlavor),
	}
}

// flavor is the one that the path names.
func flavor(q *wire.Request) (compute.FlavorRow, error) {
	return q.API.Catalog.Flavor(q.Context(), q.Viewer(), flavorID(q))
}

func flavorID(q *wire.Request) compute.ID { return compute.ID(q.Param("flavor")) }

func listFlavors(q *wire.Request, collection string, show func(*wire.Request, compute.FlavorRow) view.Object) error {
	if err := q.CheckQuery(flavorsSchema(q.Minor)); err != nil {
		return err
	}
	filter, err := flavorFilter(q)
	if err != nil {
		return err
	}
	all, err := q.API.Catalog.Flavors(q.Context(), q.Viewer(), filter)
	if err != nil {
		return err
	}
	if all, err = flavorPage(q, all); err != nil {
		return err
	}
	answer := view.Object{view.List("flavors", all, func(f compute.FlavorRow) view.Object { return show(q, f) })}
	if n := len(all); n > 0 {
		answer = append(answer, q.NextLink("flavors_links", collection, n, string(all[n-1].ID))...)
	}
	return q.Respond(http.StatusOK, answer)
}

// flavorFilter reads the filter of a list. Only administrators may list flavors that are not
// public.
func flavorFilter(q *wire.Request) (f catalog.FlavorFilter, err error) {
	if q.IsAdmin() {
		if f.Public, err = flavorPublic(q); err != nil {
			return f, err
		}
	}
	if text, ok := q.Last("name"); ok {
		if f.Name, err = wire.Expression("name", text); err != nil {
			return f, err
		}
	}
	if f.MinMemoryMB, err = least(q, "minRam"); err != nil {
		return f, err
	}
	f.MinRootGB, err = least(q, "minDisk")
	return f, err
}

// flavorPublic reads is_public: public ones by default, nil for all.
func flavorPublic(q *wire.Request) (*bool, error) {
	public := true
	text, ok := q.Last("is_public")
	if !ok {
		return &public, nil
	}
	if strings.EqualFold(text, "none") {
		return nil, nil
	}
	if public, ok = wire.ParseBool(text); !ok {
		return nil, wire.BadRequest("Invalid is_public filter [%s]", text)
	}
	return &public, nil
}

// least reads the least amount of something that flavors must have.
func least(q *wire.Request, name string) (int64, error) {
	text, ok := q.Last(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, wire.BadRequest("Invalid %s filter [%s]", name, text)
	}
	return n, nil
}

// flavorPage sorts flavors and returns the requested page. The marker may be any existing flavor.
func flavorPage(q *wire.Request, all []compute.FlavorRow) ([]compute.FlavorRow, error) {
	key, _ := q.Last("sort_key")
	compare := flavorOrders[cmp.Or(key, "flavorid")]
	order := func(a, b compute.FlavorRow) int {
		c := cmp.Or(compare(a, b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		if dir, _ := q.Last("sort_dir"); dir == "desc" {
			return -c
		}
		return c
	}
	slices.SortFunc(all, order)
	p := q.Page()
	if p.HasMarker {
		marker, err := q.API.Catalog.Flavor(q.Context(), q.Viewer(), compute.ID(p.Marker))
		if wire.IsFault(err, "FlavorNotFound") {
			err = wire.BadRequest("marker [%s] not found", p.Marker)
		}
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f compute.FlavorRow) bool { return order(f, marker) <= 0 })
	}
	return all[:min(len(all), p.Limit)], nil
}

// flavorOrders are the sort keys of flavors. Keys that are equal for all flavors compare as equal.
var flavorOrders = map[string]func(a, b compute.FlavorRow) int{
	"created_at":   func(a, b compute.FlavorRow) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"description":  func(a, b compute.FlavorRow) int { return cmp.Compare(a.Description, b.Description) },
	"disabled":     func(a, b compute.FlavorRow) int { return compareBools(a.Disabled, b.Disabled) },
	"ephemeral_gb": func(a, b compute.FlavorRow) int { return cmp.Compare(a.EphemeralGB, b.EphemeralGB) },
	"flavorid":     func(a, b compute.FlavorRow) int { return cmp.Compare(a.ID, b.ID) },
	"id":           func(a, b compute.FlavorRow) int { return 0 },
	"is_public":    func(a, b compute.FlavorRow) int { return compareBools(a.Public, b.Public) },
	"memory_mb":    func(a, b compute.FlavorRow) int { return cmp.Compare(a.MemoryMB, b.MemoryMB) },
	"name":         func(a, b compute.FlavorRow) int { return cmp.Compare(a.Name, b.Name) },
	"root_gb":      func(a, b compute.FlavorRow) int { return cmp.Compare(a.RootGB, b.RootGB) },
	"rxtx_factor":  func(a, b compute.FlavorRow) int { return cmp.Compare(a.RxTx, b.RxTx) },
	"swap":         func(a, b compute.FlavorRow) int { return cmp.Compare(a.SwapMB, b.SwapMB) },
	"updated_at":   func(a, b compute.FlavorRow) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
	"vcpu_weight":  func(a, b compute.FlavorRow) int { return 0 },
	"vcpus":        func(a, b compute.FlavorRow) int { return cmp.Compare(a.VCPUs, b.VCPUs) },
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func showFlavor(q *wire.Request) error {
	f, err := flavor(q)
	if err != nil {
		return err
	}
	return respondFlavor(q, f)
}

func createFlavor(q *wire.Request) error {
	v, err := q.CheckMember(flavorCreateSchema(q.Minor), "flavor")
	if err != nil {
		return err
	}
	if err := q.Can("os-flavor-manage:create", wire.CloudTarget); err != nil {
		return err
	}
	f, err := q.API.Catalog.CreateFlavor(q.Context(), newFlavor(v))
	if err != nil {
		return err
	}
	return respondFlavor(q, f)
}

// newFlavor reads a flavor. Numbers may be texts.
func newFlavor(v pyjson.Value) compute.FlavorRow {
	f := compute.FlavorRow{RxTx: 1, Public: true}
	for _, m := range v.Members() {
		switch m.Key {
		case "name":
			f.Name = m.Value.Str()
		case "id":
			if m.Value.Kind() != pyjson.Null {
				f.ID = compute.ID(pyjson.Str(m.Value))
			}
		case "ram":
			f.MemoryMB = wire.Number(m.Value)
		case "vcpus":
			f.VCPUs = wire.Number(m.Value)
		case "disk":
			f.RootGB = wire.Number(m.Value)
		case "OS-FLV-EXT-DATA:ephemeral":
			f.EphemeralGB = wire.Number(m.Value)
		case "swap":
			f.SwapMB = wire.Number(m.Value)
		case "rxtx_factor":
			f.RxTx, _ = strconv.ParseFloat(pyjson.Str(m.Value), 64) // the schema has seen to it
		case "os-flavor-access:is_public":
			f.Public = wire.Truth(m.Value)
		case "description":
			f.Description = m.Value.Str()
		}
	}
	return f
}

func describeFlavor(q *wire.Request) error {
	v, err := q.CheckMember(flavorUpdateSchema2_55, "flavor")
	if err != nil {
		return err
	}
	if err := q.Can("os-flavor-manage:update", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := flavor(q); err != nil {
		return err
	}
	text, _ := v.Get("description")
	f, err := q.API.Catalog.DescribeFlavor(q.Context(), flavorID(q), text.Str())
	if err != nil {
		return err
	}
	return respondFlavor(q, f)
}

func deleteFlavor(q *wire.Request) error {
	if err := q.Can("os-flavor-manage:delete", wire.CloudTarget); err != nil {
		return err
	}
	if err := q.API.Catalog.DeleteFlavor(q.Context(), flavorID(q)); err != nil {
		return err
	}
	return q.Done(http.StatusAccepted)
}

func respondFlavor(q *wire.Request, f compute.FlavorRow) error {
	return q.Respond(http.StatusOK, wire.Single("flavor", flavorDetail(q, f)))
}

// flavorView is what lists show of a flavor.
func flavorView(q *wire.Request, f compute.FlavorRow) view.Object {
	return view.Object{view.Text("id", f.ID), view.Text("name", f.Name), q.Links("flavors", string(f.ID))}.
		If(q.Minor >= 55, view.TextOrNull("description", f.Description))
}

// flavorDetail is all that there is of a flavor.
func flavorDetail(q *wire.Request, f compute.FlavorRow) view.Object {
	swap := view.Int("swap", f.SwapMB)
	if f.SwapMB == 0 && q.Minor < 75 {
		swap = view.Text("swap", "")
	}
	return append(flavorView(q, f), view.Int("ram", f.MemoryMB), view.Int("disk", f.RootGB), swap,
		view.Int("OS-FLV-EXT-DATA:ephemeral", f.EphemeralGB), view.Int("vcpus", f.VCPUs),
		view.Bool("os-flavor-access:is_public", f.Public)).
		If(q.Minor < 102, view.Bool("OS-FLV-DISABLED:disabled", f.Disabled), view.Float("rxtx_factor", f.RxTx)).
		If(q.Minor >= 61 && q.May("os-flavor-extra-specs:index", wire.OwnTarget), view.TextMap("extra_specs", f.Specs))
}
