package keystone

import (
	"context"
	"errors"

	"github.com/berthcloud/berth/fault"
)

// Login logs a user in once, with the credentials of opts, and returns the token with its owner.
// The error is a fault: Unauthentic when Keystone refuses the credentials, Unavailable when it
// cannot be reached or does not answer as Keystone does, and Invalid for credentials that are not
// complete. No text of it has a secret.
func Login(ctx context.Context, opts Options) (token string, h Holder, err error) {
	if err := opts.complete(); err != nil {
		return "", h, fault.New(fault.Invalid, "", "%v", err)
	}
	client, err := newHTTPClient(opts)
	if err != nil {
		return "", h, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 2*opts.Timeout)
	defer cancel()
	l := newLogin(opts, client, func(context.Context, *login, *session, int) error { return nil })
	s, err := l.fetch(ctx, opts.Retries)
	var f *failure
	switch {
	case errors.As(err, &f) && f.refused:
		return "", h, fault.New(fault.Unauthentic, "", "Keystone refuses these credentials")
	case err != nil:
		opts.Log.Warn("a user could not log in", "error", err.Error())
		return "", h, fault.New(fault.Unavailable, "", "Keystone cannot be reached")
	}
	return s.id, Holder{
		Caller: s.token.caller, UserName: s.token.userName, ProjectName: s.token.projectName, Expires: s.token.expires,
	}, nil
}
