package serversapi

import (
	"maps"
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/view"
)

func serverMetadataRoutes(a *wire.API) []httpapi.Route {
	const all, one = "/servers/{server}/metadata", "/servers/{server}/metadata/{key}"
	return []httpapi.Route{
		a.Route(http.MethodGet, all, 1, wire.NoQuery(listMetadata)),
		a.Route(http.MethodPost, all, 1, func(q *wire.Request) error { return setMetadata(q, "create", maps.Clone) }),
		a.Route(http.MethodPut, all, 1, func(q *wire.Request) error { return setMetadata(q, "update_all", nothing) }),
		a.Route(http.MethodGet, one, 1, wire.NoQuery(showMetadata)),
		a.Route(http.MethodPut, one, 1, updateMetadata),
		a.Route(http.MethodDelete, one, 1, deleteMetadata),
	}
}

var (
	metadataSchema = wire.BodySchema("metadata", textsPart)
	metaSchema     = wire.BodySchema("meta", `{"type": "object", "patternProperties": {"^[a-zA-Z0-9-_:. ]{1,255}$": {"type": "string", "maxLength": 255}},
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1}`)
)

// nothing is what metadata that is replaced begins with.
func nothing(map[string]string) map[string]string { return map[string]string{} }

func listMetadata(q *wire.Request) error {
	s, err := q.ServerInPath("server-metadata:index")
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.TextMap("metadata", s.Metadata)})
}

// setMetadata adds what the body has to the stored metadata.
func setMetadata(q *wire.Request, rule string, kept func(map[string]string) map[string]string) error {
	v, err := q.CheckMember(metadataSchema, "metadata")
	if err != nil {
		return err
	}
	metadata, err := changeMetadata(q, rule, "update metadata", func(old map[string]string) (map[string]string, error) {
		metadata := kept(old)
		maps.Copy(metadata, textsIn(v))
		return metadata, nil
	})
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.TextMap("metadata", metadata)})
}

// changeMetadata changes the metadata of the server in the path.
func changeMetadata(
	q *wire.Request, rule, what string, fn func(map[string]string) (map[string]string, error),
) (map[string]string, error) {
	s, err := q.ServerInPath("server-metadata:" + rule)
	if err != nil {
		return nil, err
	}
	s, err = q.API.Servers.SetMetadata(q.Context(), q.Author(), s.ID, what, fn)
	return s.Metadata, err
}

func showMetadata(q *wire.Request) error {
	s, err := q.ServerInPath("server-metadata:show")
	if err != nil {
		return err
	}
	key := q.Param("key")
	value, ok := s.Metadata[key]
	if !ok {
		return noMetadata()
	}
	return q.Respond(http.StatusOK, wire.Single("meta", view.Object{view.Text(key, value)}))
}

func noMetadata() error { return wire.NotFound("Metadata item was not found") }

func updateMetadata(q *wire.Request) error {
	v, err := q.CheckMember(metaSchema, "meta")
	if err != nil {
		return err
	}
	_, err = changeMetadata(q, "update", "update metadata", func(old map[string]string) (map[string]string, error) {
		return withMeta(q, old, v)
	})
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, view.Object{view.JSON("meta", v)})
}

// withMeta adds the one item of a body, which must be the one that the path names.
func withMeta(q *wire.Request, old map[string]string, v pyjson.Value) (map[string]string, error) {
	key := q.Param("key")
	value, ok := v.Get(key)
	if !ok {
		return nil, wire.BadRequest("Request body and URI mismatch")
	}
	old[key] = value.Str()
	return old, nil
}

func deleteMetadata(q *wire.Request) error {
	key := q.Param("key")
	_, err := changeMetadata(q, "delete", "delete metadata", func(old map[string]string) (map[string]string, error) {
		if _, ok := old[key]; !ok {
			return nil, noMetadata()
		}
		delete(old, key)
		return old, nil
	})
	if err != nil {
		return err
	}
	return q.Done(http.StatusNoContent)
}
