// Package local has users in one project, and their tokens, in memory: the part of Keystone that
// the openstack client needs for "berth up". It stores nothing on disk: tokens end with the
// process.
package local

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// DomainID and DomainName are those of the one domain.
const (
	DomainID   = "default"
	DomainName = "Default"
)

// A User may log in. The IDs of users and projects are 32 hexadecimal digits.
type User struct {
	ID, Name, Password string
	Roles              []string // in the project, implied ones included
}

// A Project is the project of users.
type Project struct{ ID, Name string }

// A Service is an entry of the catalog.
type Service struct {
	Type, Name string
	URL        string // of its endpoint, for every interface
}

// A Scope is the scope of a token. The zero value is an unscoped one.
type Scope struct {
	Project bool // the one project
	System  bool // system scope, for administrators
}

// A Token is the login of a user.
type Token struct {
	ID      string // the secret itself
	User    User
	Scope   Scope
	Methods []string // how the user logged in: "password", and "token" before it
	AuditID string
	Parent  string // audit id of the token it was issued from, "" for none
	Issued  time.Time
	Expires time.Time
}

// Roles are the roles that the token carries.
func (t *Token) Roles() []string {
	if t.Scope == (Scope{}) {
		return nil
	}
	return t.User.Roles
}

// Admin reports whether the token is an administrator's.
func (t *Token) Admin() bool { return slices.Contains(t.Roles(), "admin") }

// Life is the validity of a token.
const Life = 24 * time.Hour

// maxTokens bounds the valid tokens; beyond it the oldest are removed.
const maxTokens = 10000

// A Directory has users and tokens. It may be used concurrently.
type Directory struct {
	Project Project
	// Static is a token of the first administrator that does not expire; "" for none. It is a
	// secret like a password, and must be set before the directory is used.
	Static string

	users []User
	now   func() time.Time

	mu       sync.Mutex
	services []Service
	tokens   map[string]*Token
	order    []string // of tokens, the oldest first
}

// New returns a Directory with some users of one project.
func New(project Project, users ...User) *Directory {
	return &Directory{Project: project, users: users, now: time.Now, tokens: map[string]*Token{}}
}

// Offer adds an entry to the catalog.
func (d *Directory) Offer(s Service) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.services = append(d.services, s)
}

// Services returns the catalog.
func (d *Directory) Services() []Service {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.services)
}

// Users returns all users, without their passwords.
func (d *Directory) Users() []User {
	all := slices.Clone(d.users)
	for i := range all {
		all[i].Password = ""
	}
	return all
}

// refused is the same error for every refused login, so that it reveals neither users nor
// passwords.
func refused() error { return fault.New(fault.Unauthentic, "", "the login was refused") }

// Login checks a password and issues a token. The user is named by ID or name. Fault:
// Unauthentic.
func (d *Directory) Login(user, password string, scope Scope) (*Token, error) {
	var match User
	for _, u := range d.users {
		if u.ID == user || u.Name == user {
			match = u
		}
	}
	// A user that does not exist takes as long as one that does.
	right := subtle.ConstantTimeCompare([]byte(match.Password), []byte(password)) == 1
	if !right || match.ID == "" || password == "" {
		return nil, refused()
	}
	return d.issue(match, scope, Token{Methods: []string{"password"}, Expires: d.now().Add(Life)})
}

// Rescope issues a token for another scope to the user of a token; it expires with that token.
// Fault: Unauthentic.
func (d *Directory) Rescope(id string, scope Scope) (*Token, error) {
	old, ok := d.Token(id)
	if !ok {
		return nil, refused()
	}
	methods := slices.DeleteFunc(slices.Clone(old.Methods), func(m string) bool { return m == "token" })
	return d.issue(old.User, scope, Token{
		Methods: append([]string{"token"}, methods...), Parent: old.AuditID, Expires: old.Expires,
	})
}

// issue creates a token that inherits the values in of.
func (d *Directory) issue(u User, scope Scope, token Token) (*Token, error) {
	if scope.System && !slices.Contains(u.Roles, "admin") {
		return nil, refused()
	}
	u.Password = ""
	t := &Token{
		ID: secret(32), User: u, Scope: scope, Methods: token.Methods, AuditID: secret(16), Parent: token.Parent,
		Issued: d.now(), Expires: token.Expires,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[t.ID] = t
	d.order = append(d.order, t.ID)
	for len(d.order) > maxTokens {
		delete(d.tokens, d.order[0])
		d.order = d.order[1:]
	}
	return t, nil
}

func secret(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// NewToken returns a token for Directory.Static that cannot be guessed.
func NewToken() string { return secret(32) }

// NewPassword returns a random password.
func NewPassword() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// Token returns a token that was issued, and has neither expired nor been revoked. The
// caller must not change it.
func (d *Directory) Token(id string) (*Token, bool) {
	if d.Static != "" && subtle.ConstantTimeCompare([]byte(id), []byte(d.Static)) == 1 {
		return d.static()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.tokens[id]
	if !ok || !d.now().Before(t.Expires) {
		return nil, false
	}
	return t, true
}

func (d *Directory) static() (*Token, bool) {
	for _, u := range d.users {
		if slices.Contains(u.Roles, "admin") {
			u.Password = ""
			now := d.now()
			return &Token{
				ID: d.Static, User: u, Scope: Scope{Project: true}, Methods: []string{"token"}, AuditID: "static", Issued: now,
				Expires: now.Add(Life),
			}, true
		}
	}
	return nil, false
}

// Revoke invalidates a token.
func (d *Directory) Revoke(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tokens, id) // its entry in order is skipped later
}

// Caller returns the caller with a token. Fault: Unauthentic.
func (d *Directory) Caller(id string) (identity.Caller, error) {
	t, ok := d.Token(id)
	if !ok {
		return identity.Caller{}, fault.New(fault.Unauthentic, "", "no such token")
	}
	c := identity.Caller{UserID: t.User.ID, UserDomainID: DomainID, Roles: t.Roles(), Expires: t.Expires}
	if t.Scope.Project {
		c.ProjectID, c.ProjectDomainID, c.AdminProject = d.Project.ID, DomainID, true
	}
	if t.Scope.System {
		c.SystemScope = "all"
	}
	return c, nil
}
