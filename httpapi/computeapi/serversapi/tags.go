package serversapi

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/berthcloud/berth/compute/servers"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func serverTagRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/servers/{server}/tags", "/servers/{server}/tags/{tag}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 26, wire.NoQuery(listTags)),
		a.Route(http.MethodPut, all, 26, replaceTags),
		a.Route(http.MethodDelete, all, 26, deleteTags),
		a.Route(http.MethodGet, one, 26, wire.NoQuery(showTag)),
		a.Route(http.MethodPut, one, 26, addTag),
		a.Route(http.MethodDelete, one, 26, deleteTag),
	}
}

// maxTags is how many tags a server may have.
const maxTags = 50

var (
	tagsSchema   = wire.BodySchema("tags", `{"type": "array", "items": `+tagPart+`, "maxItems": 50}`)
	noBodySchema = wire.Draft4.MustCompile(`{"type": "null"}`)
	tagSchema    = wire.Draft4.MustCompile(tagPart)
)

func listTags(q *wire.Request) error {
	s, err := q.ServerInPath("os-server-tags:index")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.Texts("tags", s.Tags)})
}

func showTag(q *wire.Request) error {
	s, err := q.ServerInPath("os-server-tags:show")
	if err != nil {
		return err
	}
	if tag := q.Param("tag"); !slices.Contains(s.Tags, tag) {
		return wire.NotFound("Server %s has no tag '%s'", s.ID, tag)
	}
	return q.Done(http.StatusNoContent)
}

// changeTags changes the tags of the server in the path.
func changeTags(q *wire.Request, rule, what string, fn func([]string) ([]string, error)) (servers.Server, error) {
	s, err := q.ServerInPath("os-server-tags:" + rule)
	if err != nil {
		return s, err
	}
	return q.API.Servers.SetTags(q.Context(), s.ID, what, fn)
}

func replaceTags(q *wire.Request) error {
	v, err := q.CheckMember(tagsSchema, "tags")
	if err != nil {
		return err
	}
	s, err := changeTags(q, "update_all", "update tags", func([]string) ([]string, error) { return listIn(v), nil })
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.Texts("tags", s.Tags)})
}

// addTag answers 201 to a tag that is new, 204 to one that is there.
func addTag(q *wire.Request) error {
	if err := q.Check(noBodySchema); err != nil {
		return err
	}
	tag, status := q.Param("tag"), http.StatusCreated
	s, err := changeTags(q, "update", "update tag", func(old []string) ([]string, error) {
		if m := tagSchema.First(pyjson.NewString(tag)); m != nil {
			return nil, wire.BadRequest("Tag '%s' is invalid. It must be a non empty string without characters '/' and ','. "+
				"Validation error message: %s", tag, m.Message)
		}
		if len(old) >= maxTags {
			return nil, wire.BadRequest("The number of tags exceeded the per-server limit %d", maxTags)
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
		q.Writer.Header().Set("Location", q.PathURL("servers/"+string(s.ID)+"/tags/"+url.PathEscape(tag)))
	}
	// Nova's library sends this type with answers without a body.
	q.Writer.Header().Set("Content-Type", "text/html; charset=UTF-8")
	q.Writer.WriteHeader(status)
	return nil
}

func deleteTag(q *wire.Request) error {
	tag := q.Param("tag")
	_, err := changeTags(q, "delete", "delete tag", func(old []string) ([]string, error) {
		i := slices.Index(old, tag)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "InstanceTagNotFound", "Instance %s has no tag '%s'", q.Param("server"), tag)
		}
		return slices.Delete(old, i, i+1), nil
	})
	if err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}

func deleteTags(q *wire.Request) error {
	_, err := changeTags(q, "delete_all", "delete tags", func([]string) ([]string, error) { return nil, nil })
	if err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}
