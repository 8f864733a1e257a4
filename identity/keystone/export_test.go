package keystone

import "net/http"

// SetTransport puts a Keystone in memory in place of the network.
func (v *Validator) SetTransport(rt http.RoundTripper) { v.http.Transport = rt }

// SetTransport puts a Keystone in memory in place of the network.
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
