package computeapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) flavorRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/flavors", 1, func(q *request) error { return q.listFlavors("flavors", (*request).flavorView) }),
		a.route(http.MethodPost, "/flavors", 1, (*request).createFlavor),
		a.list("/flavors/detail", 1, func(q *request) error { return q.listFlavors("flavors/detail", (*request).flavorDetail) }),
		a.route(http.MethodGet, "/flavors/{flavor}", 1, (*request).showFlavor),
		a.route(http.MethodPut, "/flavors/{flavor}", 55, (*request).describeFlavor),
		a.route(http.MethodDelete, "/flavors/{flavor}", 1, (*request).deleteFlavor),
	}
}

// flavor is the one that the path names.
func (q *request) flavor() (compute.FlavorRow, error) {
	return q.api.Compute.Flavor(q.Context(), q.viewer(), q.flavorID())
}

func (q *request) flavorID() compute.ID { return compute.ID(q.param("flavor")) }

func (q *request) listFlavors(collection string, show func(*request, compute.FlavorRow) view.Object) error {
	if err := q.checkQuery(flavorsQuery); err != nil {
		return err
	}
	filter, err := q.flavorFilter()
	if err != nil {
		return err
	}
	all, err := q.api.Compute.Flavors(q.Context(), q.viewer(), filter)
	if err != nil {
		return err
	}
	if all, err = q.flavorPage(all); err != nil {
		return err
	}
	answer := view.Object{view.List("flavors", all, func(f compute.FlavorRow) view.Object { return show(q, f) })}
	if n := len(all); n > 0 {
		answer = append(answer, q.nextLink("flavors_links", collection, n, string(all[n-1].ID))...)
	}
	return q.respond(http.StatusOK, answer)
}

// flavorFilter reads the filter of a list. Only administrators may list flavors that are not
// public.
func (q *request) flavorFilter() (f compute.FlavorFilter, err error) {
	if q.isAdmin() {
		if f.Public, err = q.flavorPublic(); err != nil {
			return f, err
		}
	}
	if f.MinMemoryMB, err = q.least("minRam"); err != nil {
		return f, err
	}
	f.MinRootGB, err = q.least("minDisk")
	return f, err
}

// flavorPublic reads is_public: public ones unless it says otherwise, nil for all.
func (q *request) flavorPublic() (*bool, error) {
	public := true
	text, ok := q.last("is_public")
	if !ok {
		return &public, nil
	}
	if strings.EqualFold(text, "none") {
		return nil, nil
	}
	if public, ok = parseBool(text); !ok {
		return nil, badRequest("Invalid is_public filter [%s]", text)
	}
	return &public, nil
}

// least reads the least amount of something that flavors must have.
func (q *request) least(name string) (int64, error) {
	text, ok := q.last(name)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, badRequest("Invalid %s filter [%s]", name, text)
	}
	return n, nil
}

// flavorPage sorts flavors and returns the requested page. The marker may be any existing flavor.
func (q *request) flavorPage(all []compute.FlavorRow) ([]compute.FlavorRow, error) {
	key, _ := q.last("sort_key")
	compare := flavorOrders[cmp.Or(key, "flavorid")]
	order := func(a, b compute.FlavorRow) int {
		c := cmp.Or(compare(a, b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
		if dir, _ := q.last("sort_dir"); dir == "desc" {
			return -c
		}
		return c
	}
	slices.SortFunc(all, order)
	p := q.page()
	if p.marked {
		marker, err := q.api.Compute.Flavor(q.Context(), q.viewer(), compute.ID(p.marker))
		if isFault(err, "FlavorNotFound") {
			err = badRequest("marker [%s] not found", p.marker)
		}
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f compute.FlavorRow) bool { return order(f, marker) <= 0 })
	}
	return all[:min(len(all), p.limit)], nil
}

// flavorOrders are the sort keys of flavors. What is equal for all is left out of the comparison.
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

func (q *request) showFlavor() error {
	f, err := q.flavor()
	if err != nil {
		return err
	}
	return q.respondFlavor(f)
}

func (q *request) createFlavor() error {
	v, err := q.checked(flavorCreateSchema(q.minor), "flavor")
	if err != nil {
		return err
	}
	if err := q.can("os-flavor-manage:create", nobodys); err != nil {
		return err
	}
	f, err := q.api.Compute.CreateFlavor(q.Context(), newFlavor(v))
	if err != nil {
		return err
	}
	return q.respondFlavor(f)
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
				f.ID = compute.ID(shown(m.Value))
			}
		case "ram":
			f.MemoryMB = number(m.Value)
		case "vcpus":
			f.VCPUs = number(m.Value)
		case "disk":
			f.RootGB = number(m.Value)
		case "OS-FLV-EXT-DATA:ephemeral":
			f.EphemeralGB = number(m.Value)
		case "swap":
			f.SwapMB = number(m.Value)
		case "rxtx_factor":
			f.RxTx, _ = strconv.ParseFloat(shown(m.Value), 64) // the schema has seen to it
		case "os-flavor-access:is_public":
			f.Public = truth(m.Value)
		case "description":
			f.Description = m.Value.Str()
		}
	}
	return f
}

func (q *request) describeFlavor() error {
	v, err := q.checked(flavorUpdateSchema2_55, "flavor")
	if err != nil {
		return err
	}
	if err := q.can("os-flavor-manage:update", nobodys); err != nil {
		return err
	}
	if _, err := q.flavor(); err != nil {
		return err
	}
	text, _ := v.Get("description")
	f, err := q.api.Compute.DescribeFlavor(q.Context(), q.flavorID(), text.Str())
	if err != nil {
		return err
	}
	return q.respondFlavor(f)
}

func (q *request) deleteFlavor() error {
	if err := q.can("os-flavor-manage:delete", nobodys); err != nil {
		return err
	}
	if err := q.api.Compute.DeleteFlavor(q.Context(), q.flavorID()); err != nil {
		return err
	}
	return q.done(http.StatusAccepted)
}

func (q *request) respondFlavor(f compute.FlavorRow) error {
	return q.respond(http.StatusOK, single("flavor", q.flavorDetail(f)))
}

// flavorView is what lists show of a flavor.
func (q *request) flavorView(f compute.FlavorRow) view.Object {
	return view.Object{view.Text("id", f.ID), view.Text("name", f.Name), q.links("flavors", string(f.ID))}.
		If(q.minor >= 55, view.TextOrNull("description", f.Description))
}

// flavorDetail is all that there is of a flavor.
func (q *request) flavorDetail(f compute.FlavorRow) view.Object {
	swap := view.Int("swap", f.SwapMB)
	if f.SwapMB == 0 && q.minor < 75 {
		swap = view.Text("swap", "")
	}
	return append(q.flavorView(f), view.Int("ram", f.MemoryMB), view.Int("disk", f.RootGB), swap,
		view.Int("OS-FLV-EXT-DATA:ephemeral", f.EphemeralGB), view.Bool("OS-FLV-DISABLED:disabled", f.Disabled),
		view.Int("vcpus", f.VCPUs), view.Bool("os-flavor-access:is_public", f.Public), view.Float("rxtx_factor", f.RxTx)).
		If(q.minor >= 61 && q.may("os-flavor-extra-specs:index", own), view.TextMap("extra_specs", f.Specs))
}
