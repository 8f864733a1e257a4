package computeapi

import (
	"net/http"
	"unicode/utf8"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) extraSpecRoutes() []httpapi.Route {
	const all, one = "/flavors/{flavor}/os-extra_specs", "/flavors/{flavor}/os-extra_specs/{key}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 1, (*request).listSpecs),
		a.route(http.MethodPost, all, 1, (*request).createSpecs),
		a.route(http.MethodGet, one, 1, (*request).showSpec),
		a.route(http.MethodPut, one, 1, (*request).updateSpec),
		a.route(http.MethodDelete, one, 1, (*request).deleteSpec),
	}
}

func (q *request) listSpecs() error {
	if err := q.can("os-flavor-extra-specs:index", own); err != nil {
		return err
	}
	f, err := q.flavor()
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.TextMap("extra_specs", f.Specs)})
}

func (q *request) showSpec() error {
	if err := q.can("os-flavor-extra-specs:show", own); err != nil {
		return err
	}
	f, err := q.flavor()
	if err != nil {
		return err
	}
	key := q.param("key")
	value, ok := f.Specs[key]
	if !ok {
		return compute.NoExtraSpec(f.ID, key)
	}
	return q.respond(http.StatusOK, view.Object{view.Text(key, value)})
}

// createSpecs answers with what it was sent, numbers included.
func (q *request) createSpecs() error {
	v, err := q.checked(specsCreateSchema, "extra_specs")
	if err != nil {
		return err
	}
	if err := q.can("os-flavor-extra-specs:create", nobodys); err != nil {
		return err
	}
	return q.setSpecs(v)
}

func (q *request) updateSpec() error {
	if err := q.check(specUpdateSchema); err != nil {
		return err
	}
	if err := q.can("os-flavor-extra-specs:update", nobodys); err != nil {
		return err
	}
	if err := q.checkSpecs(q.body); err != nil {
		return err
	}
	if _, ok := q.body.Get(q.param("key")); !ok {
		return badRequest("Request body and URI mismatch")
	}
	return q.setSpecs(q.body)
}

func (q *request) setSpecs(v pyjson.Value) error {
	if err := q.checkSpecs(v); err != nil {
		return err
	}
	if _, err := q.flavor(); err != nil {
		return err
	}
	specs := make(map[string]string, v.Len())
	for _, m := range v.Members() {
		specs[m.Key] = shown(m.Value)
	}
	if _, err := q.api.Compute.SetExtraSpecs(q.Context(), q.flavorID(), specs); err != nil {
		return err
	}
	var shown view.Object
	for _, m := range q.body.Members() {
		shown = append(shown, view.JSON(m.Key, m.Value))
	}
	return q.respond(http.StatusOK, shown)
}

// checkSpecs refuses numbers that are too long, or that an answer could not repeat, which a
// schema cannot, and since 2.86 what the names that Nova knows cannot have.
func (q *request) checkSpecs(v pyjson.Value) error {
	for _, m := range v.Members() {
		if m.Value.IsNumber() && utf8.RuneCountInString(shown(m.Value)) > 255 {
			return badRequest("extra_specs value has %d characters, more than 255.", len(shown(m.Value)))
		}
		if !m.Value.IsFinite() {
			return badRequest("extra_specs value %s is not finite.", shown(m.Value))
		}
		if q.minor < 86 {
			continue
		}
		if err := compute.CheckExtraSpec(m.Key, shown(m.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) deleteSpec() error {
	if err := q.can("os-flavor-extra-specs:delete", nobodys); err != nil {
		return err
	}
	if _, err := q.flavor(); err != nil {
		return err
	}
	if err := q.api.Compute.DeleteExtraSpec(q.Context(), q.flavorID(), q.param("key")); err != nil {
		return err
	}
	return q.done(http.StatusOK)
}
