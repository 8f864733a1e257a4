package computeapi

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) serverTagRoutes() []httpapi.Route {
	const all, one = "/servers/{server}/tags", "/servers/{server}/tags/{tag}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 26, (*request).listTags),
		a.route(http.MethodPut, all, 26, (*request).replaceTags),
		a.route(http.MethodDelete, all, 26, (*request).deleteTags),
		a.route(http.MethodGet, one, 26, (*request).showTag),
		a.route(http.MethodPut, one, 26, (*request).addTag),
		a.route(http.MethodDelete, one, 26, (*request).deleteTag),
	}
}

// maxTags is how many tags a server may have.
const maxTags = 50

var (
	tagsSchema   = bodySchema("tags", `{"type": "array", "items": `+tagPart+`, "maxItems": 50}`)
	noBodySchema = draft4.MustCompile(`{"type": "null"}`)
	tagSchema    = draft4.MustCompile(tagPart)
)

func (q *request) listTags() error {
	s, err := q.serverInPath("os-server-tags:index")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.Texts("tags", s.Tags)})
}

func (q *request) showTag() error {
	s, err := q.serverInPath("os-server-tags:show")
	if err != nil {
		return err
	}
	if tag := q.param("tag"); !slices.Contains(s.Tags, tag) {
		return notFound("Server %s has no tag '%s'", s.ID, tag)
	}
	return q.done(http.StatusNoContent)
}

// changeTags changes the tags of the server in the path.
func (q *request) changeTags(rule, what string, fn func([]string) ([]string, error)) (compute.Server, error) {
	s, err := q.serverInPath("os-server-tags:" + rule)
	if err != nil {
		return s, err
	}
	return q.api.Compute.SetTags(q.Context(), s.ID, what, fn)
}

func (q *request) replaceTags() error {
	v, err := q.checked(tagsSchema, "tags")
	if err != nil {
		return err
	}
	s, err := q.changeTags("update_all", "update tags", func([]string) ([]string, error) { return listIn(v), nil })
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.Texts("tags", s.Tags)})
}

// addTag answers 201 to a tag that is new, 204 to one that is there.
func (q *request) addTag() error {
	if err := q.check(noBodySchema); err != nil {
		return err
	}
	tag, status := q.param("tag"), http.StatusCreated
	s, err := q.changeTags("update", "update tag", func(old []string) ([]string, error) {
		if m := tagSchema.First(pyjson.NewString(tag)); m != nil {
			return nil, badRequest("Tag '%s' is invalid. It must be a non empty string without characters '/' and ','. "+
				"Validation error message: %s", tag, m.Message)
		}
		if len(old) >= maxTags {
			return nil, badRequest("The number of tags exceeded the per-server limit %d", maxTags)
		}
		if slices.Contains(old, tag) {
			status = http.StatusNoContent
			return old, nil
		}
		return append(old, tag), nil
	})
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		q.w.Header().Set("Location", q.url("servers/"+string(s.ID)+"/tags/"+url.PathEscape(tag)))
	}
	q.w.Header().Set("Content-Type", "text/html; charset=UTF-8") // what Nova's library says of answers without a body
	q.w.WriteHeader(status)
	return nil
}

func (q *request) deleteTag() error {
	tag := q.param("tag")
	_, err := q.changeTags("delete", "delete tag", func(old []string) ([]string, error) {
		i := slices.Index(old, tag)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "InstanceTagNotFound", "Instance %s has no tag '%s'", q.param("server"), tag)
		}
		return slices.Delete(old, i, i+1), nil
	})
	if err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}

func (q *request) deleteTags() error {
	_, err := q.changeTags("delete_all", "delete tags", func([]string) ([]string, error) { return nil, nil })
	if err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}
