package identityapi

import (
	"encoding/json"
	"net/http"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/identity/local"
)

// A login is the body of a request for a token.
type login struct {
	Auth *struct {
		Identity struct {
			Methods  []string
			Password struct {
				User struct {
					named
					Password string
				}
			}
			Token struct{ ID string }
		}
		Scope *scope
	}
}

// A named is a user or project by its id, or by its name and domain.
type named struct {
	ID     string
	Name   string
	Domain struct{ ID, Name string }
}

// id is the user's or project's id in the directory, "" for one of another domain.
func (n *named) id() string {
	if n.ID != "" {
		return n.ID
	}
	if n.Domain.ID != local.DomainID && n.Domain.Name != local.DomainName {
		return ""
	}
	return n.Name
}

// A scope is the requested scope of a token. Keystone accepts the word "unscoped" too.
type scope struct {
	Project *named
	System  *struct{ All bool }
	Domain  *json.RawMessage
}

// UnmarshalJSON reads an object or the word.
func (s *scope) UnmarshalJSON(text []byte) error {
	if string(text) == `"unscoped"` {
		return nil
	}
	type plain scope
	return json.Unmarshal(text, (*plain)(s))
}

// maxLogin bounds the body of a login, which everybody may send, in bytes. Keystone has 112 KiB.
const maxLogin = 64 << 10

// login issues a token.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.BoundBody(w, r, maxLogin); err != nil {
		return err
	}
	body, err := httpapi.ReadBody(r)
	if err != nil {
		return err
	}
	var l login
	if err := json.Unmarshal(body, &l); err != nil || l.Auth == nil || len(l.Auth.Identity.Methods) == 0 {
		return fault.New(fault.Invalid, "", "Expecting to find auth.identity.methods in the request body, as JSON.")
	}
	project, err := a.scope(l.Auth.Scope)
	if err != nil {
		return err
	}
	var t *local.Token
	switch id := &l.Auth.Identity; id.Methods[0] {
	case "password":
		t, err = a.Directory.Login(id.Password.User.id(), id.Password.User.Password, project)
	case "token":
		t, err = a.Directory.Rescope(id.Token.ID, project)
	default:
		err = unauthorized("the method of the login is not password or token")
	}
	if err != nil {
		return err
	}
	w.Header().Set("X-Subject-Token", t.ID)
	return respond(w, http.StatusCreated, object{"token": a.token(t, !r.URL.Query().Has("nocatalog"))})
}

func unauthorized(why string) error { return fault.New(fault.Unauthentic, "", "%s", why) }

// scope resolves the requested scope of a login.
func (a *API) scope(s *scope) (found local.Scope, err error) {
	switch {
	case s == nil:
		return found, nil
	case s.Domain != nil:
		return found, unauthorized("there are no roles in the domain")
	case s.System != nil:
		found.System = true
		return found, nil
	case s.Project != nil:
		if id := s.Project.id(); id != a.Directory.Project.ID && id != a.Directory.Project.Name {
			return found, unauthorized("there is no such project")
		}
		found.Project = true
	}
	return found, nil
}
