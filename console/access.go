package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
)

// The rules of placement's policy that must allow what a page reads: its requests have the same as
// several of the API's.
var (
	lookRules = []string{
		"placement:resource_providers:list", "placement:resource_providers:inventories:list",
		"placement:resource_providers:usages", "placement:resource_providers:aggregates:list",
	}
	holderRules = append([]string{
		"placement:resource_providers:traits:list", "placement:resource_providers:allocations:list",
		"placement:allocations:list",
	}, lookRules...)
	searchRules = append([]string{"placement:allocation_candidates:list"}, lookRules...)
)

// An Access decides who may look at a console. It may be used by several goroutines.
type Access interface {
	// Check returns an error unless the caller of a request may do what all of some rules of
	// placement's policy are about: a fault that is Unauthentic for an unknown caller, and Denied.
	Check(r *http.Request, rules []string) error
	// Session describes the caller of a request, who may be unknown.
	Session(r *http.Request) Session
	// Enter looks at a request for a page before it is answered, and reports whether it has answered.
	Enter(w http.ResponseWriter, r *http.Request) (answered bool)
	// Login begins a session, and Logout ends it. The error is a fault.
	Login(w http.ResponseWriter, r *http.Request, l Login) error
	Logout(w http.ResponseWriter, r *http.Request)
}

// A Session is who looks at a console, and how.
type Session struct {
	// Login is how sessions begin: "none" for a console that everybody may look at who reaches it,
	// "key" for one whose URL has a key, "keystone".
	Login string `json:"login"`
	// Begun says that the caller may look; User and Project are who that is, "" where
	// there are no users.
	Begun   bool   `json:"begun"`
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`
	// Source names the cloud; it is "" until the session has begun.
	Source string `json:"source,omitempty"`
}

// A Login is what a user logs in with at Keystone: a name and a password, or an application
// credential.
type Login struct {
	User     string `json:"user"`
	Password string `json:"password"`
	// Domain is the name of the domain of the user and the project.
	Domain  string `json:"domain"`
	Project string `json:"project"`
	// CredentialID and Secret are those of an application credential.
	CredentialID string `json:"application_credential_id"`
	Secret       string `json:"application_credential_secret"`
}

// complete returns an error unless a login has all that it needs.
func (l *Login) complete() error {
	if l.CredentialID != "" && l.Secret != "" || l.User != "" && l.Password != "" && l.Domain != "" && l.Project != "" {
		return nil
	}
	return fault.New(fault.Invalid, "",
		"a login needs a user, a password, a domain and a project, or the ID and the secret of an application credential")
}

// Open is the access of a console that everybody may look at who reaches it.
type Open struct{}

// Check allows everything.
func (Open) Check(*http.Request, []string) error { return nil }

// Session has begun for each caller.
func (Open) Session(*http.Request) Session { return Session{Login: "none", Begun: true} }

// Enter answers nothing.
func (Open) Enter(http.ResponseWriter, *http.Request) bool { return false }

// Login refuses: there is none.
func (Open) Login(http.ResponseWriter, *http.Request, Login) error {
	return fault.New(fault.Invalid, "", "this console has no login")
}

// Logout does nothing.
func (Open) Logout(http.ResponseWriter, *http.Request) {}

// A Key is the access of callers with a key: the URL that has it begins a session, which a cookie
// keeps. It lasts as long as the process.
type Key struct {
	text string
	// cookie is its name: browsers send a cookie to all ports of a host.
	cookie string
}

// NewKey returns an access with a new key, for the console at an address ("127.0.0.1:8790").
func NewKey(address string) *Key {
	_, port, _ := strings.Cut(address, ":")
	return &Key{text: rand.Text(), cookie: "berth-console-" + port}
}

// Query returns the query string that begins a session.
func (k *Key) Query() string { return "?key=" + k.text }

// Check allows everything to who knows the key.
func (k *Key) Check(r *http.Request, _ []string) error {
	if !k.known(r) {
		return fault.New(fault.Unauthentic, "", "open the URL that the command berth console has printed: it has the key")
	}
	return nil
}

func (k *Key) known(r *http.Request) bool {
	cookie, err := r.Cookie(k.cookie)
	return err == nil && k.matches(cookie.Value)
}

func (k *Key) matches(text string) bool {
	want, got := sha256.Sum256([]byte(k.text)), sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// Session says whether the caller knows the key.
func (k *Key) Session(r *http.Request) Session { return Session{Login: "key", Begun: k.known(r)} }

// Enter sets the cookie for a URL with the key, and answers with the address of the same page
// without it: the key is in no history then.
func (k *Key) Enter(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if !query.Has("key") {
		return false
	}
	if k.matches(query.Get("key")) {
		http.SetCookie(w, &http.Cookie{
			Name: k.cookie, Value: k.text, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	}
	query.Del("key")
	target := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
	return true
}

// Login refuses: the URL has the key.
func (k *Key) Login(http.ResponseWriter, *http.Request, Login) error {
	return fault.New(fault.Invalid, "", "the URL that the command berth console has printed begins the session")
}

// Logout deletes the cookie.
func (k *Key) Logout(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: k.cookie, Path: Path, MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// servePage answers a request for a page or a file of it.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && c.access.Enter(w, r) {
		return
	}
	c.assets.ServeHTTP(w, r)
}

func (c *Console) serveSession(w http.ResponseWriter, r *http.Request) { respond(w, c.session(r)) }

// session returns the session of a caller, with the name of the cloud for one that has begun.
func (c *Console) session(r *http.Request) Session {
	s := c.access.Session(r)
	if s.Begun {
		s.Source = c.source.Name
	}
	return s
}

// maxLogin bounds the body of a login, in bytes.
const maxLogin = 8 << 10

func (c *Console) serveLogin(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		refuse(w, http.StatusForbidden, "A login has to come from the console's own page.")
		return
	}
	var l Login
	ctx, cancel := context.WithTimeout(r.Context(), loginTimeout)
	defer cancel()
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLogin))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		refuse(w, http.StatusBadRequest, "The body is no login.")
		return
	}
	if err := c.access.Login(w, r.WithContext(ctx), l); err != nil {
		c.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *Console) serveLogout(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		refuse(w, http.StatusForbidden, "A logout has to come from the console's own page.")
		return
	}
	c.access.Logout(w, r)
	w.WriteHeader(http.StatusNoContent)
}

// sameOrigin reports whether a request comes from a page of the console: browsers say so in one of
// two headers, and other pages cannot change them.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && origin.Host == r.Host
}

// loginTimeout bounds the time of a login at Keystone.
const loginTimeout = 20 * time.Second
