package keystone

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/identity"
)

// A Self is the service's own access to Keystone, for operators. Fields of steps that were not
// reached are empty.
type Self struct {
	LoginURL string // version 3 of the API, which issues the service's token
	Version  string // in Keystone's form; empty when the kind of credentials needs no discovery

	User     Holder        // of the service's token
	Clock    time.Duration // by how much Keystone's clock is ahead of this machine's
	TLS      string        // protocol and certificate; empty without TLS
	Catalog  string        // Keystone's endpoint in the catalogue
	Region   string        // of that endpoint
	QueryURL string        // version 3 of the API, where tokens are checked
}

// A Holder is the owner of a token, with the names, which only operators see.
type Holder struct {
	Caller      identity.Caller
	UserName    string
	ProjectName string
	Expires     time.Time
}

func (t *token) holder() Holder {
	return Holder{Caller: t.caller, UserName: t.userName, ProjectName: t.projectName, Expires: t.expires}
}

// Inspect logs in without the cache, and returns what succeeded. It is for operators; requests do
// not need it.
func (v *Validator) Inspect(ctx context.Context) (Self, error) {
	s, err := v.login.fetch(ctx, v.opts.Retries)
	self := Self{LoginURL: s.version.URL, Version: s.version.ID}
	if s.token != nil {
		self.User, self.Clock, self.TLS = s.token.holder(), s.clock, describeTLS(s.answer.tls)
		self.Catalog, self.Region, self.QueryURL = s.endpoint.URL, s.endpoint.Region, s.query
	}
	return self, err
}

// describeTLS returns the protocol, and the subject and expiry of the server's own certificate.
func describeTLS(state *tls.ConnectionState) string {
	if state == nil {
		return ""
	}
	text := tls.VersionName(state.Version)
	if len(state.PeerCertificates) > 0 {
		c := state.PeerCertificates[0]
		text += fmt.Sprintf(", certificate of %s until %s", c.Subject, c.NotAfter.UTC().Format(time.RFC3339))
	}
	return text
}

// Probe validates a token that does not exist, to check that Keystone's validation answers. Whether
// the service may validate the tokens of others is visible with an existing token only.
func (v *Validator) Probe(ctx context.Context) error {
	_, err := v.validate(ctx, "berth-check-"+rand.Text(), false, false)
	if kind, _ := fault.Of(err); kind == fault.Unauthentic {
		return nil // Keystone searched for the token, and did not find it
	}
	return err
}

// Describe checks a token as Caller does and returns more about its owner.
func (v *Validator) Describe(ctx context.Context, raw string) (Holder, error) {
	t, err := v.token(ctx, raw, false)
	if err != nil {
		return Holder{}, err
	}
	return t.holder(), nil
}
