package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/pyschema"
	"github.com/berthcloud/berth/httpapi/view"
)

func (a *API) keypairRoutes() []httpapi.Route {
	return []httpapi.Route{
		a.list("/os-keypairs", 1, (*request).listKeypairs),
		a.route(http.MethodPost, "/os-keypairs", 1, (*request).createKeypair),
		a.route(http.MethodGet, "/os-keypairs/{name}", 1, (*request).showKeypair),
		a.route(http.MethodDelete, "/os-keypairs/{name}", 1, (*request).deleteKeypair),
	}
}

// keypairNamePart is for the name of a keypair, of some characters only.
func keypairNamePart(format string) string {
	return `"name": {"allOf": [` + namePart + `, {"type": "string", "minLength": 1, "maxLength": 255, "format": "` + format + `"}]}`
}

const (
	keypairTypePart = `"type": {"type": "string", "enum": ["ssh", "x509"]}`
	publicKeyPart   = `"public_key": ` + stringPart
)

var (
	keypairCreateSchema2_1  = bodySchema("keypair", objectPart(keypairNamePart("keypair_name_20")+", "+publicKeyPart, `"name"`))
	keypairCreateSchema2_2  = bodySchema("keypair", objectPart(keypairNamePart("keypair_name_20")+", "+keypairTypePart+", "+publicKeyPart, `"name"`))
	keypairCreateSchema2_10 = bodySchema("keypair", objectPart(
		keypairNamePart("keypair_name_20")+", "+keypairTypePart+", "+publicKeyPart+`, "user_id": `+stringPart, `"name"`))
	keypairCreateSchema2_92 = bodySchema("keypair", objectPart(
		keypairNamePart("keypair_name_292")+", "+keypairTypePart+", "+publicKeyPart+`, "user_id": `+stringPart, `"name", "public_key"`))

	keypairQuery2_10  = newQuery(false, "user_id", many(stringPart))
	keypairsQuery2_35 = newQuery(false, "user_id", many(stringPart), "limit", many(countPart), "marker", many(stringPart))
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
func (q *request) keyOwner(s querySchema, rule string) (string, error) {
	if q.minor >= 10 {
		if err := q.checkQuery(s); err != nil {
			return "", err
		}
	}
	user := q.caller.UserID
	if asked := q.query["user_id"]; len(asked) > 0 && asked[0] != "" {
		user = asked[0]
	}
	return user, q.can("os-keypairs:"+rule, ofUser(user))
}

func (q *request) listKeypairs() error {
	s := keypairQuery2_10
	if q.minor >= 35 {
		s = keypairsQuery2_35
	}
	user, err := q.keyOwner(s, "index")
	if err != nil {
		return err
	}
	all, err := q.api.Compute.Keypairs(q.Context(), user)
	if err != nil {
		return err
	}
	if q.minor >= 35 {
		ok, p := false, q.page()
		if all, ok = part(all, p, func(k compute.KeypairRow) string { return k.Name }); !ok {
			return badRequest("Marker %s could not be found.", p.marker)
		}
	}
	answer := view.Object{view.List("keypairs", all, func(k compute.KeypairRow) view.Object { return single("keypair", q.keypair(k)) })}
	if n := len(all); n > 0 && q.minor >= 35 {
		answer = append(answer, q.nextLink("keypairs_links", "os-keypairs", n, all[n-1].Name)...)
	}
	return q.respond(http.StatusOK, answer)
}

// keypair is what lists show of a keypair.
func (q *request) keypair(k compute.KeypairRow) view.Object {
	return view.Object{view.Text("name", k.Name), view.Text("public_key", k.PublicKey), view.Text("fingerprint", k.Fingerprint)}.
		If(q.minor >= 2, view.Text("type", k.Type))
}

func (q *request) showKeypair() error {
	user, err := q.keyOwner(keypairQuery2_10, "show")
	if err != nil {
		return err
	}
	k, err := q.api.Compute.Keypair(q.Context(), user, q.param("name"))
	if err != nil {
		return err
	}
	return q.respond(http.StatusOK, single("keypair", append(q.keypair(k), view.Text("user_id", k.User),
		moment("created_at", k.CreatedAt), view.Bool("deleted", false), view.Null("deleted_at"), view.Int("id", k.Number), view.Null("updated_at"))))
}

func (q *request) createKeypair() error {
	v, err := q.checked(keypairCreateSchema(q.minor), "keypair")
	if err != nil {
		return err
	}
	spec := q.keypairSpec(v)
	if err := q.can("os-keypairs:create", ofUser(spec.User)); err != nil {
		return err
	}
	var k compute.KeypairRow
	var private []view.Member // the key, when it is made here: it is kept nowhere
	if _, imports := v.Get("public_key"); imports {
		k, err = q.api.Compute.ImportKeypair(q.Context(), spec)
	} else {
		var key string
		k, key, err = q.api.Compute.GenerateKeypair(q.Context(), spec)
		private = append(private, view.Text("private_key", key))
	}
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if q.minor < 2 {
		status = http.StatusOK
	}
	return q.respond(status, single("keypair", append(append(q.keypair(k), private...), view.Text("user_id", k.User))))
}

func (q *request) keypairSpec(v pyjson.Value) compute.KeypairSpec {
	spec := compute.KeypairSpec{User: q.caller.UserID, Project: q.caller.ProjectID, Type: compute.SSH}
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

func (q *request) deleteKeypair() error {
	user, err := q.keyOwner(keypairQuery2_10, "delete")
	if err != nil {
		return err
	}
	if err := q.api.Compute.DeleteKeypair(q.Context(), user, q.param("name")); err != nil {
		return err
	}
	if q.minor < 2 {
		return q.done(http.StatusAccepted)
	}
	return q.done(http.StatusNoContent)
}
