package keystone

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/identity"
)

// maxToken is the greatest length, in bytes, of a token that is sent to Keystone. Fernet tokens
// have some 200, signed ones less than 2000.
const maxToken = 8192

// plausible returns a token without the space around it. A malformed one is refused without a
// request to Keystone.
func plausible(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return "", refuse("no token was sent")
	case len(raw) > maxToken:
		return "", refuse("the token has %d bytes, more than any of Keystone's", len(raw))
	case !printable(raw):
		return "", refuse("the token has characters that none of Keystone's has")
	}
	return raw, nil
}

// printable reports whether s has visible characters of ASCII only.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// A token is Keystone's description of one. It is immutable.
type token struct {
	caller      identity.Caller
	userName    string
	projectName string
	issued      time.Time
	expires     time.Time
	rules       []accessRule
	restricted  bool // valid only for requests that the access rules allow
	catalog     []service
}

// A wireToken is the body of Keystone's answers about a token. Which of project, domain and system
// it has says what its scope is; a token without a scope has none of them.
type wireToken struct {
	Token struct {
		User           wireUser        `json:"user"`
		Project        *wireNamed      `json:"project"`
		Domain         *wireNamed      `json:"domain"`
		System         map[string]bool `json:"system"`
		Roles          []wireNamed     `json:"roles"`
		IssuedAt       string          `json:"issued_at"`
		ExpiresAt      string          `json:"expires_at"`
		IsAdminProject *bool           `json:"is_admin_project"`
		Bind           map[string]any  `json:"bind"`
		Catalog        []service       `json:"catalog"`
		Credential     *struct {
			Rules *[]accessRule `json:"access_rules"`
		} `json:"application_credential"`
	} `json:"token"`
}

type wireUser = wireNamed

type wireNamed struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Domain wireOwner `json:"domain"`
}

type wireOwner struct {
	ID string `json:"id"`
}

// parseToken reads Keystone's answer.
//
// A token that is bound to a client is refused (an Unauthentic fault). keystonemiddleware passes
// over kinds of binding that it does not know in its default mode (enforce_token_bind =
// permissive). Other errors mean that the answer is not Keystone's.
func parseToken(body []byte) (*token, error) {
	var w wireToken
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("the answer is not Keystone's: %w", err)
	}
	d := &w.Token
	expires, err := time.Parse(time.RFC3339, d.ExpiresAt)
	if err != nil || d.User.ID == "" {
		return nil, errors.New("the answer is not Keystone's: it has no user or no time at which the token expires")
	}
	if len(d.Bind) > 0 {
		return nil, refuse("the token is bound to a client, which Berth cannot check")
	}
	issued, _ := time.Parse(time.RFC3339, d.IssuedAt) // for operators only
	t := &token{caller: w.caller(), userName: d.User.Name, issued: issued, expires: expires, catalog: d.Catalog}
	t.caller.Expires = expires
	if d.Project != nil {
		t.projectName = d.Project.Name
	}
	if d.Credential != nil && d.Credential.Rules != nil {
		t.restricted, t.rules = true, *d.Credential.Rules
	}
	return t, nil
}

// caller returns the token's owner. Without is_admin_project it counts as one of the
// administrators' project, as for keystoneauth: Keystone leaves it out unless such a project is
// configured.
func (w *wireToken) caller() identity.Caller {
	d := &w.Token
	c := identity.Caller{
		UserID:       d.User.ID,
		UserDomainID: d.User.Domain.ID,
		AdminProject: d.IsAdminProject == nil || *d.IsAdminProject,
	}
	if d.Project != nil {
		c.ProjectID, c.ProjectDomainID = d.Project.ID, d.Project.Domain.ID
	}
	if d.Domain != nil {
		c.DomainID = d.Domain.ID
	}
	if d.System["all"] {
		c.SystemScope = "all"
	}
	for _, r := range d.Roles {
		c.Roles = append(c.Roles, r.Name)
	}
	return c
}

// fresh refuses a token that has expired, unless that does not matter.
func (t *token) fresh(allowExpired bool) error {
	if !allowExpired && !time.Now().Before(t.expires) {
		return refuse("the token of user %s expired at %s", t.caller.UserID, t.expires.Format(time.RFC3339))
	}
	return nil
}

// hasRole reports whether the token carries one of the roles.
func (t *token) hasRole(roles []string) bool {
	return slices.ContainsFunc(t.caller.Roles, func(r string) bool { return slices.Contains(roles, r) })
}
