package placementapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/placement"
)

func (a *API) classRoutes() []httpapi.Route {
	const list, one = "/resource_classes", "/resource_classes/{name}"
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: list, Since: 2, Produces: true, Handle: a.guarded(policyClassesList, a.listClasses)},
		{Method: http.MethodPost, Pattern: list, Since: 2, NeedsJSON: true, Handle: a.guarded(policyClassesCreate, a.createClass)},
		{Method: http.MethodGet, Pattern: one, Since: 2, Produces: true, Handle: a.guarded(policyClassesShow, a.getClass)},
		{Method: http.MethodPut, Pattern: one, Since: 2, Until: 6, NeedsJSON: true, Handle: a.guarded(policyClassesUpdate, a.renameClass)},
		{Method: http.MethodPut, Pattern: one, Since: 7, Handle: a.guarded(policyClassesUpdate, a.putClass)},
		{Method: http.MethodDelete, Pattern: one, Since: 2, Handle: a.guarded(policyClassesDelete, a.deleteClass)},
	}
}

// listClasses lists the resource classes.
func (a *API) listClasses(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	snapshot, err := a.Placement.Snapshot(ctx)
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
	j.Key("name")
	j.String(name)
	j.Key("links")
	j.Array()
	link(j, "self", classPath(name))
	j.EndArray()
	j.EndObject()
}

func classPath(name string) string { return "/resource_classes/" + name }

// createClass adds a custom resource class.
func (a *API) createClass(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := readJSON(r, classesPostSchema(minor(r)))
	if err != nil {
		return err
	}
	name := member(v, "name").Str()
	if err := a.Placement.CreateClass(ctx, name); err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.AbsoluteURL(r, classPath(name)))
	w.WriteHeader(http.StatusCreated)
	return nil
}

// getClass shows one resource class.
func (a *API) getClass(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	snapshot, err := a.Placement.Snapshot(ctx)
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

// renameClass gives a class another name: what PUT means from 1.2 to 1.6.
func (a *API) renameClass(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	v, err := readJSON(r, classesPutSchema(minor(r)))
	if err != nil {
		return err
	}
	name := member(v, "name").Str()
	if err := a.Placement.RenameClass(ctx, httpapi.Param(r, "name"), name); err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { writeClass(j, name) })
}

// putClass creates a class unless it is there: what PUT means since 1.7. The
// name is judged as if it had come in a body, quotes and all, as upstream does.
func (a *API) putClass(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	name := httpapi.Param(r, "name")
	if _, err := parseJSON([]byte(`{"name": "`+name+`"}`), classesPutSchema(minor(r))); err != nil {
		return err
	}
	created, err := a.Placement.EnsureClass(ctx, name)
	if err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.AbsoluteURL(r, classPath(name)))
	w.WriteHeader(createdOrNoContent(created))
	return nil
}

// deleteClass removes a custom resource class.
func (a *API) deleteClass(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.Placement.DeleteClass(ctx, httpapi.Param(r, "name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
