package httpapi

import (
	"context"

	"github.com/berthcloud/berth/identity"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/microversion"
)

// A scope is the context of a request: that of its connection and, in one
// place, what has become known of the request since. A chain of values would do
// the same and cost a copy of the request for each of them.
type scope struct {
	context.Context
	x *exchange
}

// exchangeKey is the key of the exchange itself, which only this package requests.
type exchangeKey struct{}

// exchangeOf returns the exchange that ctx belongs to, nil when no API serves
// it.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Value returns what is known under a key: that of the exchange, of the packages
// that request their own, or of the connection.
func (s *scope) Value(key any) any {
	switch key {
	case exchangeKey{}:
		return s.x
	case logging.Key{}:
		return &s.x.origin
	case microversion.Key{}:
		return &s.x.version
	case identity.Key{}:
		if !s.x.known {
			return nil
		}
		return &s.x.caller
	}
	return s.Context.Value(key)
}
