package devcloud

import (
	"context"
	"fmt"
	"sync"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity/local"
)

// A login is the Access of a user to a service in the same process, with a token of the identity
// service.
type login struct {
	cloud *cloud
	user  string
	at    func() string // the address of the service, "" before it has one

	mu    sync.Mutex
	token string // "" before the first login
}

// login returns the access of a user to a service, which may start later.
func (c *cloud) login(user string, url func() string) client.Access {
	return &login{cloud: c, user: user, at: url}
}

// Access implements client.Access.
func (l *login) Access(context.Context) (endpoint, token string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if endpoint = l.at(); endpoint == "" {
		return "", "", fault.New(fault.Unavailable, "", "the service has not been started yet")
	}
	if l.token == "" {
		t, err := l.cloud.directory.Login(l.user, l.cloud.passwords[l.user], local.Scope{Project: true})
		if err != nil {
			return "", "", fmt.Errorf("logging in as %s: %w", l.user, err)
		}
		l.token = t.ID
	}
	return endpoint, l.token, nil
}

// Discard implements client.Access.
func (l *login) Discard(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == token {
		l.token = ""
	}
}
