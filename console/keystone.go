package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// A User is who has logged in.
type User struct {
	Token         string
	Name, Project string
	Expires       time.Time // of the token
}

// KeystoneOptions are what a login with Keystone needs.
type KeystoneOptions struct {
	// Login gets a token for a user. The error is a fault.
	Login func(ctx context.Context, l Login) (User, error)
	// Caller checks a token, as for a request of the API. The error is a fault.
	Caller func(r *http.Request, token string) (identity.Caller, error)
	// Allow applies a rule of the policy. The error is a fault.
	Allow func(c identity.Caller, rule string) error
}

const (
	// maxSessions and maxLogins bound the sessions, and the logins under way.
	maxSessions = 1000
	maxLogins   = 4
	// idleTimeout ends a session without a request. An open page has one each 15 seconds.
	idleTimeout = 30 * time.Minute
	// cookieName makes browsers refuse a cookie that is not Secure or is set for another path or
	// domain.
	cookieName = "__Host-berth-console"
)

// A Keystone is the access of users of Keystone. Their tokens stay in the memory of the process; a
// browser has the random name of a session. It may be used by several goroutines.
type Keystone struct {
	o      KeystoneOptions
	logins chan struct{}

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*userSession // by the hash of its name
}

// A userSession is a user's.
type userSession struct {
	user User
	used time.Time
}

// NewKeystone returns an access without sessions.
func NewKeystone(o KeystoneOptions) *Keystone {
	return &Keystone{o: o, logins: make(chan struct{}, maxLogins), sessions: map[[sha256.Size]byte]*userSession{}}
}

var errNoSession = fault.New(fault.Unauthentic, "", "nobody is logged in, or the session has ended")

// user returns who has the session of a request.
func (k *Keystone) user(r *http.Request) (User, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return User{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := sha256.Sum256([]byte(cookie.Value))
	s := k.sessions[key]
	now := time.Now()
	if s == nil || s.ended(now) {
		delete(k.sessions, key)
		return User{}, false
	}
	s.used = now
	return s.user, true
}

func (s *userSession) ended(now time.Time) bool {
	return now.After(s.used.Add(idleTimeout)) || !now.Before(s.user.Expires)
}

// Check checks the token of the session, and each rule.
func (k *Keystone) Check(r *http.Request, rules []string) error {
	user, ok := k.user(r)
	if !ok {
		return errNoSession
	}
	caller, err := k.o.Caller(r, user.Token)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := k.o.Allow(caller, rule); err != nil {
			return err
		}
	}
	return nil
}

// Session says who is logged in.
func (k *Keystone) Session(r *http.Request) Session {
	user, ok := k.user(r)
	return Session{Login: "keystone", Begun: ok, User: user.Name, Project: user.Project}
}

// Enter answers nothing.
func (k *Keystone) Enter(http.ResponseWriter, *http.Request) bool { return false }

// Login gets a token from Keystone, and begins a session with it.
func (k *Keystone) Login(w http.ResponseWriter, r *http.Request, l Login) error {
	if err := l.complete(); err != nil {
		return err
	}
	select {
	case k.logins <- struct{}{}:
		defer func() { <-k.logins }()
	default:
		return fault.New(fault.Unavailable, "", "others are logging in; try it again")
	}
	user, err := k.o.Login(r.Context(), l)
	if err != nil {
		return err
	}
	name := rand.Text()
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, s := range k.sessions {
		if s.ended(now) {
			delete(k.sessions, key)
		}
	}
	if len(k.sessions) >= maxSessions {
		return fault.New(fault.Unavailable, "", "there are too many sessions; try it again later")
	}
	k.sessions[sha256.Sum256([]byte(name))] = &userSession{user: user, used: now}
	http.SetCookie(w, hostCookie(name, 0))
	return nil
}

// Logout forgets the session with its token.
func (k *Keystone) Logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		k.mu.Lock()
		delete(k.sessions, sha256.Sum256([]byte(cookie.Value)))
		k.mu.Unlock()
	}
	http.SetCookie(w, hostCookie("", -1))
}

func hostCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}
