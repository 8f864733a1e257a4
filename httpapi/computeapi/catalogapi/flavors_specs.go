package catalogapi

import (
	"net/http"
	"unicode/utf8"

	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func extraSpecRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/flavors/{flavor}/os-extra_specs", "/flavors/{flavor}/os-extra_specs/{key}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 1, wire.NoQuery(listSpecs)),
		a.Route(http.MethodPost, all, 1, createSpecs),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showSpec)),
		a.Route(http.MethodPut, one, 1, updateSpec),
		a.Route(http.MethodDelete, one, 1, deleteSpec),
	}
}

func listSpecs(q *wire.Request) error {
	if err := q.Can("os-flavor-extra-specs:index", wire.OwnTarget); err != nil {
		return err
	}
	f, err := flavor(q)
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.TextMap("extra_specs", f.Specs)})
}

func showSpec(q *wire.Request) error {
	if err := q.Can("os-flavor-extra-specs:show", wire.OwnTarget); err != nil {
		return err
	}
	f, err := flavor(q)
	if err != nil {
		return err
	}
	key := q.Param("key")
	value, ok := f.Specs[key]
	if !ok {
		return catalog.NoExtraSpec(f.ID, key)
	}
	return q.Respond(http.StatusOK, view.Object{view.Text(key, value)})
}

// createSpecs answers with what it was sent, numbers included.
func createSpecs(q *wire.Request) error {
	v, err := q.CheckMember(specsCreateSchema, "extra_specs")
	if err != nil {
		return err
	}
	if err := q.Can("os-flavor-extra-specs:create", wire.CloudTarget); err != nil {
		return err
	}
	return setSpecs(q, v)
}

func updateSpec(q *wire.Request) error {
	if err := q.Check(specUpdateSchema); err != nil {
		return err
	}
	if err := q.Can("os-flavor-extra-specs:update", wire.CloudTarget); err != nil {
		return err
	}
	if err := checkSpecs(q, q.JSON); err != nil {
		return err
	}
	if _, ok := q.JSON.Get(q.Param("key")); !ok {
		return wire.BadRequest("Request body and URI mismatch")
	}
	return setSpecs(q, q.JSON)
}

func setSpecs(q *wire.Request, v pyjson.Value) error {
	if err := checkSpecs(q, v); err != nil {
		return err
	}
	if _, err := flavor(q); err != nil {
		return err
	}
	specs := make(map[string]string, v.Len())
	for _, m := range v.Members() {
		specs[m.Key] = pyjson.Str(m.Value)
	}
	if _, err := q.API.Catalog.SetExtraSpecs(q.Context(), flavorID(q), specs); err != nil {
		return err
	}
	var shown view.Object
	for _, m := range q.JSON.Members() {
		shown = append(shown, view.JSON(m.Key, m.Value))
	}
	return q.Respond(http.StatusOK, shown)
}

// checkSpecs refuses numbers that are too long, or that an answer could not repeat, which a
// schema cannot, and since 2.86 what the names that Nova knows cannot have.
func checkSpecs(q *wire.Request, v pyjson.Value) error {
	for _, m := range v.Members() {
		if m.Value.IsNumber() && utf8.RuneCountInString(pyjson.Str(m.Value)) > 255 {
			return wire.BadRequest("extra_specs value has %d characters, more than 255.", len(pyjson.Str(m.Value)))
		}
		if !m.Value.IsFinite() {
			return wire.BadRequest("extra_specs value %s is not finite.", pyjson.Str(m.Value))
		}
		if q.Minor < 86 {
			continue
		}
		if err := catalog.CheckExtraSpec(m.Key, pyjson.Str(m.Value)); err != nil {
			return err
		}
	}
	return nil
}

func deleteSpec(q *wire.Request) error {
	if err := q.Can("os-flavor-extra-specs:delete", wire.CloudTarget); err != nil {
		return err
	}
	if _, err := flavor(q); err != nil {
		return err
	}
	if err := q.API.Catalog.DeleteExtraSpec(q.Context(), flavorID(q), q.Param("key")); err != nil {
		return err
	}
	return q.Done(http.StatusOK)
}
