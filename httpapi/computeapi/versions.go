package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/microversion"
)

func versionRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Unversioned: true, Handle: getVersions},
		{Method: http.MethodGet, Pattern: top, Handle: getVersion},
		{Method: http.MethodGet, Pattern: top + "/", Name: top, Handle: getVersion},
	}
}

// getVersions tells which versions there are.
func getVersions(w http.ResponseWriter, r *http.Request) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		object(j, "versions", array([]string{httpapi.AbsoluteURL(r, top+"/")}, func(j *httpapi.JSON, href string) {
			j.Object()
			putVersion(j)
			put(j, "links", array([]string{href}, func(j *httpapi.JSON, href string) { object(j, "rel", "self", "href", href) }))
			j.EndObject()
		}))
	})
}

// getVersion tells what this version is.
func getVersion(w http.ResponseWriter, r *http.Request) error {
	links := [][]any{
		{"rel", "self", "href", httpapi.AbsoluteURL(r, top+"/")},
		{"rel", "describedby", "type", "text/html", "href", "http://docs.openstack.org/"},
	}
	media := [][]any{{"base", "application/json", "type", "application/vnd.openstack.compute+json;version=2.1"}}
	all := func(j *httpapi.JSON, pairs []any) { object(j, pairs...) }
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		object(j, "version", func(j *httpapi.JSON) {
			j.Object()
			putVersion(j)
			put(j, "links", array(links, all), "media-types", array(media, all))
			j.EndObject()
		})
	})
}

// putVersion writes what both documents say.
func putVersion(j *httpapi.JSON) {
	history := microversion.Compute
	put(j, "id", "v2.1", "status", "CURRENT", "version", history.Max().String(), "min_version", history.Min().String(),
		"updated", "2013-07-23T11:33:21Z")
}
