package placementapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/placement"
)

// classRoutes returns the routes of resource classes. PUT has two of them: it renames a class up to
// 1.6, with a body, and ensures that one exists since 1.7, without a body.
func (a *API) classRoutes() []httpapi.Route {
	const list, one = "/resource_classes", "/resource_classes/{name}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: list, Since: 2, Produces: true, Handle: a.guarded(policyClassesList, a.listClasses),
		},
		{
			Method: http.MethodPost, Pattern: list, Since: 2, NeedsJSON: true,
			Handle: a.guarded(policyClassesCreate, a.createClass),
		},
		{Method: http.MethodGet, Pattern: one, Since: 2, Produces: true, Handle: a.guarded(policyClassesShow, a.getClass)},
		{
			Method: http.MethodPut, Pattern: one, Since: 2, Until: 6, NeedsJSON: true,
			Handle: a.guarded(policyClassesUpdate, a.renameClass),
		},
		{Method: http.MethodPut, Pattern: one, Since: 7, Handle: a.guarded(policyClassesUpdate, a.putClass)},
		{Method: http.MethodDelete, Pattern: one, Since: 2, Handle: a.guarded(policyClassesDelete, a.deleteClass)},
	}
}

// listClasses lists all resource classes, standard and custom ones. Exists since 1.2.
func (a *API) listClasses(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := a.Placement.Snapshot(r.Context())
	if err != nil {
		return err
	}
	list := snapshot.Classes().List()
	a.modified(w, r, newestOf(list))
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("resource_classes")
		j.Array()
		for _, c := range list {
			writeClass(j, c.Name)
		}
		j.EndArray()
		j.EndObject()
	})
}

func writeClass(j *httpapi.JSON, name string) {
	j.Object()
	j.KeyString("name", name)
	j.Key("links")
	j.Array()
	link(j, "self", classPath(name))
	j.EndArray()
	j.EndObject()
}

func classPath(name string) string { return "/resource_classes/" + name }

// createClass creates a custom resource class and answers 201 with its Location; 409 when it
// exists. Exists since 1.2.
func (a *API) createClass(w http.ResponseWriter, r *http.Request) error {
	v, err := readJSON(r, classSchema)
	if err != nil {
		return err
	}
	name := member(v, "name").Str()
	if err := a.Placement.CreateClass(r.Context(), name); err != nil {
		return err
	}
	w.Header().Set("Location", httpserver.AbsoluteURL(r, classPath(name)))
	w.WriteHeader(http.StatusCreated)
	return nil
}

// getClass shows one resource class: 404 without it. Exists since 1.2.
func (a *API) getClass(w http.ResponseWriter, r *http.Request) error {
	snapshot, err := a.Placement.Snapshot(r.Context())
	if err != nil {
		return err
	}
	name := httpapi.Param(r, "name")
	c, ok := snapshot.Classes().Named(name)
	if !ok {
		return placement.ErrNoClass(name)
	}
	a.modified(w, r, c.Modified)
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { writeClass(j, name) })
}

// renameClass renames a custom class, the meaning of PUT from 1.2 to 1.6: 400 for a standard class,
// 409 when the new name exists.
func (a *API) renameClass(w http.ResponseWriter, r *http.Request) error {
	v, err := readJSON(r, classSchema)
	if err != nil {
		return err
	}
	name := member(v, "name").Str()
	if err := a.Placement.RenameClass(r.Context(), httpapi.Param(r, "name"), name); err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { writeClass(j, name) })
}

// putClass ensures that a class exists, the meaning of PUT since 1.7: 201 when it was created, 204
// when it existed. Upstream validates the name as the body {"name": "…"} that it formats with the
// name, so that quotation marks in the name have an effect on the parser; so does this.
func (a *API) putClass(w http.ResponseWriter, r *http.Request) error {
	name := httpapi.Param(r, "name")
	if _, err := parseJSON([]byte(`{"name": "`+name+`"}`), classSchema); err != nil {
		return err
	}
	created, err := a.Placement.EnsureClass(r.Context(), name)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpserver.AbsoluteURL(r, classPath(name)))
	w.WriteHeader(createdOrNoContent(created))
	return nil
}

// deleteClass deletes a custom class and answers 204: 400 for a standard class, 409 while an
// inventory has the class. Exists since 1.2.
func (a *API) deleteClass(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, a.Placement.DeleteClass(r.Context(), httpapi.Param(r, "name")))
}
