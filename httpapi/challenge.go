package httpapi

import (
	"net/http"

	"github.com/berthcloud/berth/fault"
)

// A Challenge is the error of an Authenticator that behaves like keystonemiddleware, which is in
// front of upstream's API and answers in a format of its own: a 401 names the address of Keystone.
type Challenge struct {
	Err error // why; a fault of kind Unavailable becomes 503, any other 401

	// Keystone is the address in WWW-Authenticate (option www_authenticate_uri); "" omits the header.
	Keystone string

	// Delayed leaves 401 to the API behind the middleware (option delay_auth_decision), whose format
	// the body then has.
	Delayed bool
}

// Error returns why the caller is refused, for the log.
func (c *Challenge) Error() string { return c.Err.Error() }

// Unwrap returns why the caller is refused.
func (c *Challenge) Unwrap() error { return c.Err }

// unauthorizedBody is the middleware's, whatever the client accepts.
const unauthorizedBody = `{"error": {"code": 401, "title": "Unauthorized", ` +
	`"message": "The request you have made requires authentication."}}`

// keystoneAway is all that callers learn of why Keystone is unavailable.
const keystoneAway = "The Keystone service is temporarily unavailable."

// answer writes the middleware's answer. It is 503 with Retry-After when Keystone is unavailable,
// and 401 otherwise. A 401 of the API behind the middleware has WWW-Authenticate too, since the
// middleware adds it to every 401 (process_response).
func (c *Challenge) answer(x *exchange) {
	if kind, _ := fault.Of(c.Err); kind == fault.Unavailable {
		x.Header().Set("Retry-After", retryAfter)
		media, body := outside(http.StatusServiceUnavailable, keystoneAway, x.accept)
		writeBody(x, http.StatusServiceUnavailable, media, body)
		return
	}
	if c.Keystone != "" {
		x.Header()["WWW-Authenticate"] = []string{`Keystone uri="` + c.Keystone + `"`}
	}
	media, body := mediaJSON, []byte(unauthorizedBody)
	if c.Delayed {
		media, body = outside(http.StatusUnauthorized, "", x.accept)
	}
	writeBody(x, http.StatusUnauthorized, media, body)
}

// outside renders an error that upstream makes outside its API: the JSON has the
// older shape.
func outside(status int, detail, accept string) (media string, body []byte) {
	p := &problem{status: status, detail: detail}
	media, body = p.render(accept)
	if media == mediaJSON {
		body = p.unauthorized()
	}
	return media, body
}
