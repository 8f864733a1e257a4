package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/httpserver"
)

// CORS allows pages of other origins to call the API, as oslo.middleware's CORS does. It is not
// modified once an API uses it. The fields are the options allowed_origin, allow_credentials,
// expose_headers, max_age, allow_methods and allow_headers of [cors].
type CORS struct {
	AllowedOrigin    []string // "https://host[:port]"; "*" allows any
	AllowCredentials bool
	ExposeHeaders    []string
	MaxAge           int // seconds; 0 leaves it out
	AllowMethods     []string
	AllowHeaders     []string
}

// simpleHeaders need no permission.
var simpleHeaders = []string{
	"Accept", "Accept-Language", "Content-Type", "Cache-Control", "Content-Language", "Expires",
	"Last-Modified", "Pragma",
}

// A grant is the headers for an origin that may read the answer; the zero grant adds none.
type grant struct {
	origin      string
	credentials bool
	expose      string
}

// match returns the headers for the request's origin. Origins are compared as texts, with their
// case. When "*" admits an origin, the answer names "*" in its place, as upstream does
// (_get_cors_config_by_origin).
func (c *CORS) match(r *http.Request) grant {
	origin := r.Header.Get("Origin")
	switch {
	case r.Header["Origin"] == nil:
		return grant{}
	case slices.Contains(c.AllowedOrigin, origin):
	case slices.Contains(c.AllowedOrigin, "*"):
		origin = "*"
	default:
		return grant{}
	}
	return grant{origin, c.AllowCredentials, strings.Join(c.ExposeHeaders, ",")}
}

// apply adds the grant to an answer's headers. Origin is appended to Vary without a space, as
// upstream writes it.
func (g grant) apply(h http.Header) {
	if g.origin == "" {
		return
	}
	vary := "Origin"
	if v := h.Get("Vary"); v != "" {
		vary = v + ",Origin"
	}
	h.Set("Vary", vary)
	h.Set("Access-Control-Allow-Origin", g.origin)
	if g.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if g.expose != "" {
		h.Set("Access-Control-Expose-Headers", g.expose)
	}
}

// preflight answers OPTIONS: always 200, with permissions only when the origin, the method and
// every requested header are allowed. Upstream hands OPTIONS on to the service and replaces any
// answer that is not 2xx. Placement has no answer to OPTIONS, so here the request goes no further,
// and needs no token.
func (c *CORS) preflight(x *exchange, r *http.Request) {
	requested := httpserver.ListElements(r.Header.Values("Access-Control-Request-Headers"))
	method := r.Header.Get("Access-Control-Request-Method")
	allowed := slices.Contains(c.AllowMethods, method) && c.allowsHeaders(requested)
	if !allowed {
		x.cors = grant{}
	}
	x.cors.expose = ""
	h := x.Header()
	if x.cors.origin != "" {
		if c.MaxAge != 0 {
			h.Set("Access-Control-Max-Age", strconv.Itoa(c.MaxAge))
		}
		h.Set("Access-Control-Allow-Methods", method)
		if len(requested) > 0 {
			h.Set("Access-Control-Allow-Headers", strings.Join(requested, ","))
		}
	}
	h.Set("Content-Length", "0")
	x.WriteHeader(http.StatusOK)
}

// allowsHeaders reports whether a page may send all these headers. Case does not matter.
func (c *CORS) allowsHeaders(requested []string) bool {
	for _, name := range requested {
		same := func(s string) bool { return strings.EqualFold(s, name) }
		if !slices.ContainsFunc(c.AllowHeaders, same) && !slices.ContainsFunc(simpleHeaders, same) {
			return false
		}
	}
	return true
}
