package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/berthcloud/berth/microversion"
)

// computeRequestID is the header in which Nova named requests first, and does still.
const computeRequestID = "X-Compute-Request-Id"

// serveCompute takes the request through the steps of the package comment that are
// Nova's.
func (a *API) serveCompute(x *exchange, r *http.Request) error {
	p := a.table.find(r.URL.Path, x)
	if p == nil || !p.has(r.Method) {
		return &Error{Status: http.StatusNotFound, unrouted: true}
	}
	x.pattern = p
	if !p.routes[0].Unversioned {
		if err := a.negotiateCompute(x, r); err != nil {
			return err
		}
	}
	if err := checkComputeMedia(r); err != nil {
		return err
	}
	if err := a.checkContent(x, r); err != nil {
		return err
	}
	route, err := p.route(r.Method, x.version.Minor)
	if err != nil {
		return err
	}
	x.route = route
	return call(route.Handle, x, r)
}

// has reports whether there is a route for a method, at any version.
func (p *pattern) has(method string) bool {
	for i := range p.routes {
		if p.routes[i].Method == method {
			return true
		}
	}
	return false
}

// computeHeader is microversion.ComputeHeader as net/http spells it.
var computeHeader = http.CanonicalHeaderKey(microversion.ComputeHeader)

// varyCompute says that answers depend on both headers.
var varyCompute = []string{microversion.Header, microversion.ComputeHeader}

// negotiateCompute finds the version of the request. An answer that refuses one names it as well.
func (a *API) negotiateCompute(x *exchange, r *http.Request) (err error) {
	x.version, err = a.cfg.History.NegotiateStrictly(a.cfg.Service, r.Header[versionHeader], r.Header[computeHeader])
	var beyond *microversion.RangeError
	switch {
	case err == nil:
		x.Header()[versionHeader] = a.versions[x.version].header
	case errors.As(err, &beyond):
		x.Header()[versionHeader] = []string{microversion.Format(a.cfg.Service, x.version)}
		err = &Error{Status: http.StatusNotAcceptable, Detail: fmt.Sprintf(
			"Version %s is not supported by the API. Minimum is %s and maximum is %s.", beyond.Text, beyond.Min, beyond.Max)}
	default:
		return &Error{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	x.Header()[computeHeader] = []string{x.version.String()}
	x.Header()["Vary"] = varyCompute
	return err
}

// checkComputeMedia refuses a body with a media type other than JSON.
func checkComputeMedia(r *http.Request) error {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", mediaPlain, mediaJSON, "application/vnd.openstack.compute+json":
		return nil
	}
	return &Error{Status: http.StatusUnsupportedMediaType, Detail: "Unsupported Content-Type"}
}
