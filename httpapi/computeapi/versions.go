package computeapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/computeapi/wire"
	"github.com/berthcloud/berth/httpapi/view"
	"github.com/berthcloud/berth/httpserver"
	"github.com/berthcloud/berth/microversion"
)

func versionRoutes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/", Unversioned: true, Handle: getVersions},
		{Method: http.MethodGet, Pattern: wire.Prefix, Handle: getVersion},
		{Method: http.MethodGet, Pattern: wire.Prefix + "/", Name: wire.Prefix, Handle: getVersion},
	}
}

// getVersions lists the versions.
func getVersions(w http.ResponseWriter, r *http.Request) error {
	versions := []view.Object{
		append(versionView(), wire.LinkList("links", wire.Link("self", httpserver.AbsoluteURL(r, wire.Prefix+"/")))),
	}
	answer := view.Object{view.List("versions", versions, func(o view.Object) view.Object { return o })}
	return httpapi.Respond(w, http.StatusOK, answer.Write)
}

// getVersion describes this version.
func getVersion(w http.ResponseWriter, r *http.Request) error {
	documents := view.Object{
		view.Text("rel", "describedby"), view.Text("type", "text/html"), view.Text("href", "http://docs.openstack.org/"),
	}
	media := view.Object{
		view.Text("base", "application/json"), view.Text("type", "application/vnd.openstack.compute+json;version=2.1"),
	}
	answer := wire.Single("version", append(versionView(),
		wire.LinkList("links", wire.Link("self", httpserver.AbsoluteURL(r, wire.Prefix+"/")), documents),
		wire.LinkList("media-types", media)))
	return httpapi.Respond(w, http.StatusOK, answer.Write)
}

// versionView is what both documents have of the version.
func versionView() view.Object {
	history := microversion.Compute
	return view.Object{
		view.Text("id", "v2.1"), view.Text("status", "CURRENT"), view.Text("version", history.Max().String()),
		view.Text("min_version", history.Min().String()), view.Text("updated", "2013-07-23T11:33:21Z"),
	}
}
