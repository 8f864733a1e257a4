package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/microversion"
)

// getRoot shows the range of microversions. It needs no token, and answers at any version.
func (a *API) getRoot(w http.ResponseWriter, r *http.Request) error {
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("versions")
		j.Array()
		j.Object()
		j.KeyString("id", "v"+microversion.Placement.Min().String())
		j.KeyString("max_version", microversion.Placement.Max().String())
		j.KeyString("min_version", microversion.Placement.Min().String())
		j.KeyString("status", "CURRENT")
		j.Key("links")
		j.Array()
		link(j, "self", "")
		j.EndArray()
		j.EndObject()
		j.EndArray()
		j.EndObject()
	})
}

// link writes one element of a list of links. Respond puts the prefix of the client's URL before a
// path; the empty href of the root stays empty and means the address itself.
func link(j *httpapi.JSON, rel, href string) {
	j.Object()
	j.KeyString("rel", rel)
	j.KeyString("href", href)
	j.EndObject()
}
