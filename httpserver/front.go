package httpserver

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
)

// FrontSettings are what a Front does with requests before an API sees them. The zero value passes
// them on unchanged.
type FrontSettings struct {
	// MaxRequests is how many may be under way at a time; further ones are
	// answered with 503. 0 is no bound.
	MaxRequests int

	// Prefix is a path, such as "/placement", below which the API answers as
	// well as without it.
	Prefix string

	// Hosts are the names that requests may give to the service in their Host header;
	// others are answered with 403. Nil allows all. What proxies say of the host does not
	// count here.
	Hosts *Hosts

	// Forwarded says whether the headers of proxies about their clients are trusted when they come
	// from one of Proxies.
	Forwarded bool
	Proxies   Proxies

	// Refuse writes the 503 and 403 of a Front; nil means plain text.
	Refuse Refuser

	// CompressMinSize is the size in bytes from which an answer is compressed for clients that
	// accept that. 0 and below disable it.
	CompressMinSize int
}

// A Front precedes an API: it bounds the concurrent requests, refuses those for other hosts,
// determines the client and URL of a request that a proxy has forwarded, removes the path prefix
// and compresses answers. It may be used concurrently.
type Front struct {
	next     http.Handler
	metrics  *Metrics
	settings atomic.Pointer[FrontSettings]
	// inFlight counts all requests, those included that are being refused.
	inFlight atomic.Int64
}

// NewFront returns a Front before next. Metrics may be nil.
func NewFront(next http.Handler, s FrontSettings, m *Metrics) *Front {
	f := &Front{next: next, metrics: m.orUnread()}
	f.Set(s)
	return f
}

// Set changes the settings for requests that arrive from then on.
func (f *Front) Set(s FrontSettings) { f.settings.Store(&s) }

// ServeHTTP hands a request on, or answers 503 when too many are under way.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := f.settings.Load()
	defer f.inFlight.Add(-1)
	if n := f.inFlight.Add(1); s.MaxRequests > 0 && n > int64(s.MaxRequests) {
		f.metrics.refusedReqs.Inc()
		s.refuse(w, r, http.StatusServiceUnavailable, "Too many requests are under way.")
		return
	}
	if !s.Hosts.allow(r) {
		s.refuse(w, r, http.StatusForbidden,
			"The Host header names a host that this service does not answer for: see [berth] allowed_hosts.")
		return
	}
	r = s.arrive(r)
	Compress(f.next, s.CompressMinSize).ServeHTTP(w, r)
}

// A Refuser answers a request that goes no further, with Retry-After when the status is 503. Detail
// is for the client. It may be called from many goroutines.
type Refuser func(w http.ResponseWriter, r *http.Request, status int, detail string)

// refuse calls the Refuser, if any.
func (s *FrontSettings) refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if s.Refuse != nil {
		s.Refuse(w, r, status, detail)
		return
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	http.Error(w, detail, status)
}

// retryAfter is how long, in seconds, a client should wait before it retries what was refused
// because others had taken the room.
const retryAfter = "1"

// An arrival is how a request reached the service, as far as the request itself
// does not say.
type arrival struct {
	mount  string // path under which the client sees the API, as in WSGI's SCRIPT_NAME; needs no escapes
	scheme string // "" when the connection says it
}

type arrivalKey struct{}

// arrivalOf returns what a Front found out about a request.
func arrivalOf(r *http.Request) arrival {
	a, _ := r.Context().Value(arrivalKey{}).(arrival)
	return a
}

// Mount returns the path under which the client sees the service, in front of that of the request:
// what trusted proxies took off, and the prefix. It needs no escapes.
func Mount(r *http.Request) string { return arrivalOf(r).mount }

// AbsoluteURL returns the URL of a path of this service as the client reaches it, for Location
// headers: with the scheme, host and prefix that a trusted proxy reports, or else those of the
// request.
func AbsoluteURL(r *http.Request, path string) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	a := arrivalOf(r)
	if a.scheme != "" {
		scheme = a.scheme
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && host == "" {
		host = addr.String()
	}
	return scheme + "://" + strings.TrimSuffix(host, defaultPorts[scheme]) + a.mount + path
}

// defaultPorts are left out of URLs, as upstream does.
var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// arrive returns the request as the client sent it: without the prefix, and with the address, host
// and scheme that trusted proxies report. The request given is not modified: it is returned as it
// is when there is nothing to change, or else a copy of it.
func (s *FrontSettings) arrive(r *http.Request) *http.Request {
	var a arrival
	path, below := s.cutPrefix(r.URL.Path)
	if below {
		a.mount = s.Prefix
	}
	var o forwarded
	if s.Forwarded && s.Proxies.trust(r) {
		o = s.Proxies.forwarded(r.Header)
		a.mount, a.scheme = o.prefix+a.mount, o.proto
	}
	if a == (arrival{}) && o == (forwarded{}) {
		return r
	}
	r = r.WithContext(context.WithValue(r.Context(), arrivalKey{}, a))
	if below {
		u := *r.URL
		u.Path, u.RawPath = path, ""
		r.URL = &u
	}
	o.apply(r)
	return r
}

// cutPrefix returns what follows the prefix in a path, which is nothing or
// begins with a slash.
func (s *FrontSettings) cutPrefix(path string) (rest string, below bool) {
	if s.Prefix == "" {
		return path, false
	}
	rest, below = strings.CutPrefix(path, s.Prefix)
	return rest, below && (rest == "" || rest[0] == '/')
}
