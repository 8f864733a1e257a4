package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Hosts are the names that requests may have in their Host header: those of this machine on
// loopback, the address that the request arrived at, and some more. A service without
// authentication needs them: a web page whose name its owner makes resolve to this machine (DNS
// rebinding) lets a browser here send requests to the service, and only the header distinguishes
// them. A nil Hosts allows all names. It may be used concurrently.
type Hosts struct{ names map[string]bool }

// NewHosts returns Hosts with further names or addresses, without ports. Case and a final dot
// do not matter.
func NewHosts(more ...string) *Hosts {
	h := &Hosts{names: make(map[string]bool)}
	for _, name := range more {
		h.names[canonicalHost(name)] = true
	}
	return h
}

// allow reports whether the request names an allowed host. A request without a name does not come
// from a browser.
func (h *Hosts) allow(r *http.Request) bool {
	if h == nil || r.Host == "" {
		return true
	}
	name := canonicalHost(r.Host)
	if h.names[name] || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" {
		return true // no browser reaches it
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if addr.Unmap().IsLoopback() || local == nil {
		return addr.Unmap().IsLoopback()
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == addr.Unmap().WithZone("")
}

// canonicalHost returns a host without its port and brackets.
func canonicalHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
