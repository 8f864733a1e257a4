package placementapi

import (
	"net/http"

	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/placement"
)

func (a *API) reshaperRoutes() []httpapi.Route {
	return []httpapi.Route{
		{
			Method: http.MethodPost, Pattern: "/reshaper", Since: 30, NeedsJSON: true,
			Handle: a.guarded(policyReshape, a.reshape),
		},
	}
}

// reshape replaces inventories and allocations in one transaction and answers 204, so that a
// service can move inventories with their allocations to other providers. The errors are those of
// setInventories and postAllocations. Exists since 1.30; the allocations are those of POST
// /allocations at the same version.
func (a *API) reshape(w http.ResponseWriter, r *http.Request) error {
	v, err := readJSON(r, reshaperPostSchemas.at(minor(r)))
	if err != nil {
		return err
	}
	err = a.Placement.Reshape(r.Context(), placement.Reshape{
		Inventories: readProviderInventories(member(v, "inventories")),
		Claims:      readClaims(member(v, "allocations"), minor(r)),
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readProviderInventories decodes inventories by provider, in the order of the keys. Spelled is the
// generation as the client wrote it, which the text of a conflict quotes.
func readProviderInventories(v pyjson.Value) []placement.ProviderInventories {
	list := make([]placement.ProviderInventories, 0, v.Len())
	for _, m := range v.Members() {
		list = append(list, placement.ProviderInventories{
			Provider:    placement.UUID(m.Key),
			Generation:  generation(m.Value),
			Spelled:     pyjson.Repr(member(m.Value, "resource_provider_generation")),
			Inventories: readInventories(member(m.Value, "inventories")),
		})
	}
	return list
}
