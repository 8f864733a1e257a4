package networkapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// getVersions lists the versions of the API: there is one.
func (a *API) getVersions(w http.ResponseWriter, r *http.Request) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("versions")
		j.Array()
		j.Object()
		j.Key("id")
		j.String("v2.0")
		j.Key("status")
		j.String("CURRENT")
		j.Key("links")
		a.selfLink(j, r, "/v2.0/")
		j.EndObject()
		j.EndArray()
		j.EndObject()
	})
}

// getVersion lists the kinds of objects of a version.
func (a *API) getVersion(w http.ResponseWriter, r *http.Request) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("resources")
		j.Array()
		for _, c := range [][2]string{
			{"networks", "network"}, {"subnets", "subnet"}, {"subnetpools", "subnetpool"}, {"ports", "port"},
		} {
			a.writeCollection(j, r, c[0], c[1])
		}
		j.EndArray()
		j.EndObject()
	})
}

func (a *API) writeCollection(j *httpapi.JSON, r *http.Request, collection, name string) {
	j.Object()
	j.Key("name")
	j.String(name)
	j.Key("collection")
	j.String(collection)
	j.Key("links")
	a.selfLink(j, r, "/v2.0/"+collection)
	j.EndObject()
}

// selfLink writes a list with the link to a path.
func (a *API) selfLink(j *httpapi.JSON, r *http.Request, path string) {
	j.Value(pyjson.NewArray(pyjson.NewObject(pyjson.M("rel", "self"), pyjson.M("href", a.link(r, path)))))
}
