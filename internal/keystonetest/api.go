package keystonetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// object is a piece of JSON.
type object map[string]any

var defaultDomain = object{"id": "default"}

func login(user, password string) object {
	return object{"methods": []string{"password"}, "password": object{
		"user": object{"name": user, "domain": defaultDomain, "password": password},
	}}
}

// Token logs a persona in and returns the token, in the persona's scope.
func (k *Keystone) Token(p Persona) string {
	k.t.Helper()
	scope := map[string]object{
		"system":  {"system": object{"all": true}},
		"domain":  {"domain": defaultDomain},
		"project": {"project": object{"name": p.Project, "domain": defaultDomain}},
	}[p.Scope]
	return k.issue(login(p.Name, p.Password), scope)
}

// Unscoped logs a persona in without a scope.
func (k *Keystone) Unscoped(p Persona) string {
	k.t.Helper()
	return k.issue(login(p.Name, p.Password), nil)
}

// An AccessRule is a request that a restricted application credential allows.
type AccessRule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// ApplicationCredential creates one for a persona of a project. With rules, it allows those
// requests only.
func (k *Keystone) ApplicationCredential(p Persona, name string, rules ...AccessRule) (id, secret string) {
	k.t.Helper()
	spec := object{"name": name}
	if len(rules) > 0 {
		spec["access_rules"] = rules
	}
	var made struct {
		Credential struct{ ID, Secret string } `json:"application_credential"`
	}
	k.send(k.Token(p), "POST", "/v3/users/"+k.UserID(p.Name)+"/application_credentials",
		object{"application_credential": spec}, &made, nil)
	return made.Credential.ID, made.Credential.Secret
}

// CredentialToken logs in with an application credential.
func (k *Keystone) CredentialToken(id, secret string) string {
	k.t.Helper()
	return k.issue(object{
		"methods": []string{"application_credential"}, "application_credential": object{"id": id, "secret": secret},
	}, nil)
}

// Revoke revokes a token.
func (k *Keystone) Revoke(token string) {
	k.t.Helper()
	k.send(k.admin(), "DELETE", "/v3/auth/tokens", nil, nil, http.Header{"X-Subject-Token": {token}})
}

// ChangePassword sets another password of a persona, which revokes its tokens.
func (k *Keystone) ChangePassword(p Persona, password string) {
	k.t.Helper()
	k.do("PATCH", "/v3/users/"+k.UserID(p.Name), object{"user": object{"password": password}}, nil)
}

func (k *Keystone) issue(identity, scope object) string {
	k.t.Helper()
	auth := object{"identity": identity}
	if scope != nil {
		auth["scope"] = scope
	}
	return k.send("", "POST", "/v3/auth/tokens", object{"auth": auth}, nil, nil).Get("X-Subject-Token")
}

// create creates an object of a kind and returns its id.
func (k *Keystone) create(kind string, spec object) string {
	k.t.Helper()
	made := make(map[string]struct{ ID string })
	k.do("POST", "/v3/"+kind+"s", object{kind: spec}, &made)
	return made[kind].ID
}

// admin returns a token of the administrator.
func (k *Keystone) admin() string {
	k.t.Helper()
	if k.adminToken == "" || time.Since(k.adminSince) > k.life/2 {
		k.adminSince = time.Now()
		k.adminToken = k.issue(login("admin", adminPassword),
			object{"project": object{"name": "admin", "domain": defaultDomain}})
	}
	return k.adminToken
}

// do sends a request as the administrator.
func (k *Keystone) do(method, path string, body, into any) {
	k.t.Helper()
	k.send(k.admin(), method, path, body, into, nil)
}

// send sends a request that has to succeed.
func (k *Keystone) send(token, method, path string, body, into any, header http.Header) http.Header {
	k.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		k.t.Fatal(err)
	}
	if body == nil {
		data = nil
	}
	r, err := http.NewRequest(method, k.URL()+path, bytes.NewReader(data))
	if err != nil {
		k.t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	r.Header.Set("Content-Type", "application/json")
	return k.receive(r, into)
}

func (k *Keystone) receive(r *http.Request, into any) http.Header {
	k.t.Helper()
	res, err := k.http.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	if res.StatusCode >= 300 {
		k.t.Fatalf("%s %s: status %d: %s", r.Method, r.URL, res.StatusCode, data)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			k.t.Fatalf("%s %s: %v in %s", r.Method, r.URL, err, data)
		}
	}
	return res.Header
}
