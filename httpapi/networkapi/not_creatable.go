package networkapi

import (
	"net/http"
	"slices"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/resource"
)

// notCreatable is the POST of a kind that cannot be created by a request. Neutron adds the owner to
// the body, as to any other, and then refuses that attribute as unknown.
func notCreatable(path, name string, attributes ...string) httpapi.Route {
	return httpapi.Route{
		Method: http.MethodPost, Pattern: path, Handle: func(w http.ResponseWriter, r *http.Request) error {
			// There is no rule in Neutron: the body of every caller is read.
			if err := httpapi.BoundBody(w, r, resource.MaxIgnoredBody); err != nil {
				return err
			}
			v, err := resource.ReadObject(r)
			if err != nil {
				return err
			}
			item, err := resource.MemberObject(v, name)
			if err != nil {
				return err
			}
			unknown := resource.UnknownMembers(item, func(key string) bool {
				return isOwner(key) || slices.Contains(attributes, key)
			})
			return resource.Unrecognized(append(unknown, owners...))
		},
	}
}

// owners are the two names of the attribute with the project of an object.
var owners = []string{"tenant_id", "project_id"}

func isOwner(key string) bool { return slices.Contains(owners, key) }
