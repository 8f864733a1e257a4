package keystone

import "net/http"

// SetTransport replaces the network by a Keystone in memory.
func (v *Validator) SetTransport(rt http.RoundTripper) { v.http.Transport = rt }

// SetTransport replaces the network by a Keystone in memory.
func (s *Session) SetTransport(rt http.RoundTripper) { s.http.Transport = rt }

// PathPattern is tested alone: a pattern has more corners than a token.
var PathPattern = pathPattern

// Bounds that tests have to outlast.
const (
	RefusedTime  = refusedTime
	LongestPause = longestPause
	RefusedPause = refusedPause
	MaxToken     = maxToken
)
