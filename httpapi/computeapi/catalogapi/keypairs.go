package catalogapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func keypairRoutes(a *wire.API) []httpapi.Route {
	return []httpapi.Route{
		a.List("/os-keypairs", 1, listKeypairs),
		a.Route(http.MethodPost, "/os-keypairs", 1, createKeypair),
		a.Route(http.MethodGet, "/os-keypairs/{name}", 1, showKeypair),
		a.Route(http.MethodDelete, "/os-keypairs/{name}", 1, deleteKeypair),
	}
}

// keypairNamePart is for the name of a keypair, of some characters only.
func keypairNamePart(format string) string {
	return `"name": {"allOf": [` + wire.NamePart + `, {"type": "string", "minLength": 1, "maxLength": 255, "format": "` +
		format + `"}]}`
}

const (
	keypairTypePart = `"type": {"type": "string", "enum": ["ssh", "x509"]}`
	publicKeyPart   = `"public_key": ` + wire.StringPart
)

var (
	keypairCreateSchema2_1 = wire.BodySchema("keypair",
		wire.ObjectPart(keypairNamePart("keypair_name_20")+", "+publicKeyPart, `"name"`))
	keypairCreateSchema2_2 = wire.BodySchema("keypair",
		wire.ObjectPart(keypairNamePart("keypair_name_20")+", "+keypairTypePart+", "+publicKeyPart, `"name"`))
	keypairCreateSchema2_10 = wire.BodySchema("keypair", wire.ObjectPart(
		keypairNamePart("keypair_name_20")+", "+keypairTypePart+", "+publicKeyPart+`, "user_id": `+wire.StringPart, `"name"`))
	keypairCreateSchema2_92 = wire.BodySchema("keypair", wire.ObjectPart(
		keypairNamePart("keypair_name_292")+", "+keypairTypePart+", "+publicKeyPart+`, "user_id": `+wire.StringPart,
		`"name", "public_key"`))

	keypairQuery2_10  = wire.NewQuery(false, "user_id", wire.Repeated(wire.StringPart))
	keypairsQuery2_35 = wire.NewQuery(false, "user_id", wire.Repeated(wire.StringPart),
		"limit", wire.Repeated(wire.CountPart), "marker", wire.Repeated(wire.StringPart))
)

// keypairCreateSchema is for the body of POST /os-keypairs.
func keypairCreateSchema(minor int) *pyschema.Schema {
	switch {
	case minor >= 92:
		return keypairCreateSchema2_92
	case minor >= 10:
		return keypairCreateSchema2_10
	case minor >= 2:
		return keypairCreateSchema2_2
	}
	return keypairCreateSchema2_1
}

// keyOwner is the user whose keypairs the query selects, if policy allows it. Before 2.10 that is
// the caller.
func keyOwner(q *wire.Request, s wire.QuerySchema, rule string) (string, error) {
	if q.Minor >= 10 {
		if err := q.CheckQuery(s); err != nil {
			return "", err
		}
	}
	user := q.Caller.UserID
	if ids := q.Query["user_id"]; len(ids) > 0 && ids[0] != "" {
		user = ids[0]
	}
	return user, q.Can("os-keypairs:"+rule, wire.OfUser(user))
}

func listKeypairs(q *wire.Request) error {
	s := keypairQuery2_10
	if q.Minor >= 35 {
		s = keypairsQuery2_35
	}
	user, err := keyOwner(q, s, "index")
	if err != nil {
		return err
	}
	all, err := q.API.Catalog.Keypairs(q.Context(), user)
	if err != nil {
		return err
	}
	if q.Minor >= 35 {
		ok, p := false, q.Page()
		if all, ok = wire.PageOf(all, p, func(k compute.KeypairRow) string { return k.Name }); !ok {
			return wire.BadRequest("Marker %s could not be found.", p.Marker)
		}
	}
	answer := view.Object{
		view.List("keypairs", all, func(k compute.KeypairRow) view.Object { return wire.Single("keypair", keypair(q, k)) }),
	}
	if n := len(all); n > 0 && q.Minor >= 35 {
		answer = append(answer, q.NextLink("keypairs_links", "os-keypairs", n, all[n-1].Name)...)
	}
	return q.Respond(http.StatusOK, answer)
}

// keypair is what lists show of a keypair.
func keypair(q *wire.Request, k compute.KeypairRow) view.Object {
	return view.Object{
		view.Text("name", k.Name), view.Text("public_key", k.PublicKey), view.Text("fingerprint", k.Fingerprint),
	}.
		If(q.Minor >= 2, view.Text("type", k.Type))
}

func showKeypair(q *wire.Request) error {
	user, err := keyOwner(q, keypairQuery2_10, "show")
	if err != nil {
		return err
	}
	k, err := q.API.Catalog.Keypair(q.Context(), user, q.Param("name"))
	if err != nil {
		return err
	}
	return q.Respond(http.StatusOK, wire.Single("keypair", append(keypair(q, k), view.Text("user_id", k.User),
		wire.Time("created_at", k.CreatedAt), view.Bool("deleted", false), view.Null("deleted_at"), view.Int("id", k.Number),
		view.Null("updated_at"))))
}

func createKeypair(q *wire.Request) error {
	v, err := q.CheckMember(keypairCreateSchema(q.Minor), "keypair")
	if err != nil {
		return err
	}
	spec := keypairSpec(q, v)
	if err := q.Can("os-keypairs:create", wire.OfUser(spec.User)); err != nil {
		return err
	}
	var k compute.KeypairRow
	var private []view.Member // the key, when it is made here: it is stored nowhere
	if _, imports := v.Get("public_key"); imports {
		k, err = q.API.Catalog.ImportKeypair(q.Context(), spec)
	} else {
		var key string
		k, key, err = q.API.Catalog.GenerateKeypair(q.Context(), spec)
		private = append(private, view.Text("private_key", key))
	}
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if q.Minor < 2 {
		status = http.StatusOK
	}
	return q.Respond(status,
		wire.Single("keypair", append(append(keypair(q, k), private...), view.Text("user_id", k.User))))
}

func keypairSpec(q *wire.Request, v pyjson.Value) catalog.KeypairSpec {
	spec := catalog.KeypairSpec{User: q.Caller.UserID, Project: q.Caller.ProjectID, Type: compute.SSH}
	for _, m := range v.Members() {
		switch text := m.Value.Str(); m.Key {
		case "name":
			spec.Name = text
		case "type":
			spec.Type = text
		case "public_key":
			spec.PublicKey = text
		case "user_id":
			if text != "" {
				spec.User = text
			}
		}
	}
	return spec
}

func deleteKeypair(q *wire.Request) error {
	user, err := keyOwner(q, keypairQuery2_10, "delete")
	if err != nil {
		return err
	}
	if err := q.API.Catalog.DeleteKeypair(q.Context(), user, q.Param("name")); err != nil {
		return err
	}
	if q.Minor < 2 {
		return q.Done(http.StatusAccepted)
	}
	return q.Done(http.StatusNoContent)
}
