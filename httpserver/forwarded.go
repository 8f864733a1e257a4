package httpserver

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the peers whose headers about the client of a request are trusted.
type Proxies struct {
	Networks []netip.Prefix
	Unix     bool // trust peers on a Unix socket
}

// trust reports whether the peer of the request's connection is one of them.
func (p *Proxies) trust(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return p.Unix
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.contains(peer.Addr())
}

// contains compares an IPv4 address in IPv6 form as IPv4, and ignores zones.
func (p *Proxies) contains(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, n := range p.Networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// trustAddr is contains for an address as headers have it.
func (p *Proxies) trustAddr(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && p.contains(addr)
}

// A forwarded is what proxies report of a request; fields that are missing or invalid are empty.
type forwarded struct {
	client string // address
	proto  string // "http" or "https"
	host   string
	prefix string // path that a proxy took off
}

// apply puts the client and host into the request.
func (f forwarded) apply(r *http.Request) {
	if f.client != "" {
		r.RemoteAddr = f.client
	}
	if f.host != "" {
		r.Host = f.host
	}
}

// forwarded reads the headers that oslo.middleware reads: Forwarded (RFC 7239) or, without it,
// X-Forwarded-Proto, -Host and -For; and X-Forwarded-Prefix.
//
// A proxy may append to what its client sent. So the lists are read from their end, which the
// trusted peer wrote, and past the entries whose client is a trusted proxy itself: what comes
// before may be forged. When all entries are of trusted proxies, the first one counts, which
// upstream always uses.
func (p *Proxies) forwarded(h http.Header) forwarded {
	hops := rfc7239(h)
	if hops == nil {
		hops = xForwarded(h)
	}
	var f forwarded
	if len(hops) > 0 {
		i := len(hops) - 1
		for i > 0 && p.trustAddr(hops[i].client) {
			i--
		}
		f = hops[i].checked()
	}
	f.prefix = prefixOf(h)
	return f
}

// checked drops what could not go into a log or a URL. The request keeps its own value in place of
// a field that is dropped: such a header is no error.
func (f forwarded) checked() forwarded {
	if !only(f.client, ".:_-%") {
		f.client = ""
	}
	if !only(f.host, ".:_-[]") {
		f.host = ""
	}
	if f.proto = strings.ToLower(f.proto); f.proto != "http" && f.proto != "https" {
		f.proto = ""
	}
	return f
}

// only reports whether a text of sensible length has letters, digits and the
// given punctuation only.
func only(text, punctuation string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(punctuation, c) < 0 {
			return false
		}
	}
	return len(text) <= 255
}

// prefixOf returns the path that the nearest proxy took off. It is "" for a text that is not a
// plain absolute path. One that begins with two slashes is refused too: in a link, the client would
// take what follows for a host (RFC 3986, section 4.2).
func prefixOf(h http.Header) string {
	list := headerList(h, "X-Forwarded-Prefix")
	if len(list) == 0 {
		return ""
	}
	prefix := strings.TrimRight(list[len(list)-1], "/")
	if !strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix, "//") || !only(prefix, "/._-~") {
		return ""
	}
	return prefix
}

// rfc7239 takes the header Forwarded apart, a hop for each proxy. Commas and semicolons within
// quoted strings are not supported, neither here nor upstream (_parse_rfc7239_header). In contrast
// to upstream, quotation marks and ports are removed.
func rfc7239(h http.Header) []forwarded {
	var hops []forwarded
	for _, element := range headerList(h, "Forwarded") {
		var f forwarded
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(pair, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "for":
				f.client = withoutPort(value)
			case "proto":
				f.proto = value
			case "host":
				f.host = value
			}
		}
		hops = append(hops, f)
	}
	return hops
}

// xForwarded makes hops of the older headers. Proxies append to X-Forwarded-For;
// of the others there is one value, the nearest proxy's, or one for each hop.
func xForwarded(h http.Header) []forwarded {
	clients := headerList(h, "X-Forwarded-For")
	protos, hosts := headerList(h, "X-Forwarded-Proto"), headerList(h, "X-Forwarded-Host")
	if len(clients)+len(protos)+len(hosts) == 0 {
		return nil
	}
	hops := make([]forwarded, max(1, len(clients)))
	for i := range hops {
		hops[i].proto, hops[i].host = ofHop(protos, i, len(hops)), ofHop(hosts, i, len(hops))
		if len(clients) > 0 {
			hops[i].client = withoutPort(clients[i])
		}
	}
	return hops
}

// ofHop returns the value of hop i of n.
func ofHop(list []string, i, n int) string {
	switch len(list) {
	case 0:
		return ""
	case n:
		return list[i]
	}
	return list[len(list)-1]
}

// withoutPort returns the address in "a", "a:port", "[v6]" and "[v6]:port".
func withoutPort(text string) string {
	if _, err := netip.ParseAddr(text); err == nil {
		return text
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return strings.Trim(text, "[]")
}

// headerList returns the elements of a header that is a list, over all its
// lines.
func headerList(h http.Header, name string) []string {
	lines := h[name]
	if len(lines) == 0 {
		return nil
	}
	return ListElements(lines)
}
