package placementapi

import (
	"net/http"
	"time"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/microversion"
)

// getRoot tells which versions there are. It needs no token.
func (a *API) getRoot(w http.ResponseWriter, r *http.Request) error {
	a.modified(w, r, time.Time{})
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("versions")
		j.Array()
		j.Object()
		j.Key("id")
		j.String("v" + microversion.Placement.Min().String())
		j.Key("max_version")
		j.String(microversion.Placement.Max().String())
		j.Key("min_version")
		j.String(microversion.Placement.Min().String())
		j.Key("status")
		j.String("CURRENT")
		j.Key("links")
		j.Array()
		link(j, "self", "")
		j.EndArray()
		j.EndObject()
		j.EndArray()
		j.EndObject()
	})
}

// link writes one element of a list of links.
func link(j *httpapi.JSON, rel, href string) {
	j.Object()
	j.Key("rel")
	j.String(rel)
	j.Key("href")
	j.String(href)
	j.EndObject()
}
