package computeapi

import (
	"maps"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) serverMetadataRoutes() []httpapi.Route {
	const all, one = "/servers/{server}/metadata", "/servers/{server}/metadata/{key}"
	return []httpapi.Route{
		a.route(http.MethodGet, all, 1, (*request).listMetadata),
		a.route(http.MethodPost, all, 1, func(q *request) error { return q.setMetadata("create", maps.Clone) }),
		a.route(http.MethodPut, all, 1, func(q *request) error { return q.setMetadata("update_all", nothing) }),
		a.route(http.MethodGet, one, 1, (*request).showMetadata),
		a.route(http.MethodPut, one, 1, (*request).updateMetadata),
		a.route(http.MethodDelete, one, 1, (*request).deleteMetadata),
	}
}

var (
	metadataSchema = bodySchema("metadata", textsPart)
	metaSchema     = bodySchema("meta", `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": "string", "maxLength": 255}},
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1}`)
)

// nothing is what metadata that is replaced begins with.
func nothing(map[string]string) map[string]string { return map[string]string{} }

func (q *request) listMetadata() error {
	s, err := q.serverInPath("server-metadata:index")
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.TextMap("metadata", s.Metadata)})
}

// setMetadata adds what the body has to what is kept of the metadata.
func (q *request) setMetadata(rule string, kept func(map[string]string) map[string]string) error {
	v, err := q.checked(metadataSchema, "metadata")
	if err != nil {
		return err
	}
	metadata, err := q.changeMetadata(rule, "update metadata", func(old map[string]string) (map[string]string, error) {
		metadata := kept(old)
		maps.Copy(metadata, textsIn(v))
		return metadata, nil
	})
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.TextMap("metadata", metadata)})
}

// changeMetadata changes the metadata of the server in the path.
func (q *request) changeMetadata(rule, what string, fn func(map[string]string) (map[string]string, error)) (map[string]string, error) {
	s, err := q.serverInPath("server-metadata:" + rule)
	if err != nil {
		return nil, err
	}
	s, err = q.api.Compute.SetMetadata(q.Context(), q.by(), s.ID, what, fn)
	return s.Metadata, err
}

func (q *request) showMetadata() error {
	s, err := q.serverInPath("server-metadata:show")
	if err != nil {
		return err
	}
	key := q.param("key")
	value, ok := s.Metadata[key]
	if !ok {
		return noMetadata()
	}
	return q.respond(http.StatusOK, single("meta", view.Object{view.Text(key, value)}))
}

func noMetadata() error { return notFound("Metadata item was not found") }

func (q *request) updateMetadata() error {
	v, err := q.checked(metaSchema, "meta")
	if err != nil {
		return err
	}
	_, err = q.changeMetadata("update", "update metadata", func(old map[string]string) (map[string]string, error) {
		return q.withMeta(old, v)
	})
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, view.Object{view.JSON("meta", v)})
}

// withMeta adds the one item of a body, which must be the one that the path names.
func (q *request) withMeta(old map[string]string, v pyjson.Value) (map[string]string, error) {
	key := q.param("key")
	value, ok := v.Get(key)
	if !ok {
		return nil, badRequest("Request body and URI mismatch")
	}
	old[key] = value.Str()
	return old, nil
}

func (q *request) deleteMetadata() error {
	key := q.param("key")
	_, err := q.changeMetadata("delete", "delete metadata", func(old map[string]string) (map[string]string, error) {
		if _, ok := old[key]; !ok {
			return nil, noMetadata()
		}
		delete(old, key)
		return old, nil
	})
	if err != nil {
		return err
	}
	return q.done(http.StatusNoContent)
}
