package httpapi

import (
	"net/http"

	"github.com/berthcloud/berth/microversion"
)

// PathFirst is what an API does that looks up the path and the method before the version and the
// body. Either is answered with 404 when it is missing, in the format of the layer around the API.
type PathFirst struct {
	// RequestID is another header of answers with the request's id, in its canonical form.
	RequestID string
	// Negotiate returns the version of a request, and sets the headers of the answer that name it. It
	// is not called for routes that are Unversioned.
	Negotiate func(request, answer http.Header) (microversion.Version, error)
	// CheckMedia refuses the media type of a body.
	CheckMedia func(contentType string) error
}

// servePathFirst takes an authenticated request through the second list of steps of the package
// comment. A method that the path has at another version only is found, and refused as its route
// says after the version is known.
func (a *API) servePathFirst(x *exchange, r *http.Request) (err error) {
	p := a.table.find(r.URL.Path, x)
	if p == nil || !p.has(r.Method) {
		return &Error{Status: http.StatusNotFound, unrouted: true}
	}
	x.pattern = p
	// Either all routes of a path are versioned or none is.
	if !p.routes[0].Unversioned {
		if x.version, err = a.cfg.PathFirst.Negotiate(r.Header, x.Header()); err != nil {
			return err
		}
	}
	if err := a.cfg.PathFirst.CheckMedia(r.Header.Get("Content-Type")); err != nil {
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
	return a.handle(route, x, r)
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
