// Package imageapi is the wire of package images: the part of Glance's API, version 2, that the
// openstack client, gophercloud, Glance's own client and compute services use. It is read-only:
// requests for changes are answered 403 with the reason.
package imageapi

import (
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/images"
)

// An API answers for one catalog. Its field is set before Routes is called.
type API struct{ Catalog *images.Catalog }

// Public reports whether a path needs no token: the versions.
func Public(path string) bool {
	switch strings.TrimSuffix(path, "/") {
	case "", "/versions", "/v2":
		return true
	}
	return false
}

// Routes returns the routes of the API.
func (a *API) Routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Handle: versions(http.StatusMultipleChoices)},
		{Method: http.MethodGet, Pattern: "/versions", Handle: versions(http.StatusOK)},
		{Method: http.MethodGet, Pattern: "/v2/images", Handle: a.list},
		{Method: http.MethodGet, Pattern: "/v2/images/{id}", Handle: a.show},
		{Method: http.MethodGet, Pattern: "/v2/images/{id}/file", Handle: a.file},
		{Method: http.MethodGet, Pattern: "/v2/images/{id}/members", Handle: a.members},
		{Method: http.MethodGet, Pattern: "/v2/schemas/image", Handle: schema(imageSchema)},
		{Method: http.MethodGet, Pattern: "/v2/schemas/images", Handle: listSchema("images", imageSchema)},
		{Method: http.MethodGet, Pattern: "/v2/schemas/member", Handle: schema(memberSchema)},
		{Method: http.MethodGet, Pattern: "/v2/schemas/members", Handle: listSchema("members", memberSchema)},
	}
	for _, path := range []string{"/v2", "/v2/"} {
		routes = append(routes, httpapi.Route{
			Method: http.MethodGet, Pattern: path, Name: "/v2", Handle: versions(http.StatusMultipleChoices),
		})
	}
	for _, path := range []string{
		"", "/{id}", "/{id}/file", "/{id}/members", "/{id}/members/{member}", "/{id}/tags/{tag}", "/{id}/actions/{action}",
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			routes = append(routes, httpapi.Route{Method: method, Pattern: "/v2/images" + path, Handle: refuse})
		}
	}
	return routes
}

// refuse answers requests for changes.
func refuse(http.ResponseWriter, *http.Request) error {
	return fault.New(fault.Denied, "",
		"The images of this service are those in its file; they cannot be changed over HTTP.")
}

// Problem writes the body of an error as Glance does.
func Problem(p httpapi.Problem) (media string, body []byte) {
	title := strconv.Itoa(p.Status) + " " + http.StatusText(p.Status)
	return "text/html; charset=UTF-8",
		[]byte("<html>\n <head>\n  <title>" + title + "</title>\n </head>\n <body>\n  <h1>" + title + "</h1>\n  " +
			html.EscapeString(p.Detail) + "<br /><br />\n\n\n\n </body>\n</html>")
}

// supported are the minor versions of a Glance without several stores and without
// a cache, the newest first.
var supported = []string{"2.15", "2.9", "2.7", "2.6", "2.5", "2.4", "2.3", "2.2", "2.1", "2.0"}

func versions(status int) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		self := httpserver.AbsoluteURL(r, "/v2/")
		return httpapi.Respond(w, status, func(j *httpapi.JSON) {
			j.Object()
			j.Key("versions")
			j.Array()
			for i, version := range supported {
				renderVersion(j, self, version, map[bool]string{true: "CURRENT", false: "SUPPORTED"}[i == 0])
			}
			j.EndArray()
			j.EndObject()
		})
	}
}

func renderVersion(j *httpapi.JSON, self, version, status string) {
	j.Object()
	j.Key("id")
	j.String("v" + version)
	j.Key("status")
	j.String(status)
	j.Key("links")
	j.Array()
	j.Object()
	j.Key("rel")
	j.String("self")
	j.Key("href")
	j.String(self)
	j.EndObject()
	j.EndArray()
	j.EndObject()
}
