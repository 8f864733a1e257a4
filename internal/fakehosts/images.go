package fakehosts

import (
	"fmt"
	"io"
	"net/http"
)

// Image is the image that an image service of Images has.
const Image = "c1440051-0000-4000-8000-000000000051"

// ImageName is the name of the image.
const ImageName = "cirros-0.5.1-x86_64-disk"

// Images is the part of an image service that compute services and the openstack client use to boot
// a server.
func Images() http.Handler {
	image := fmt.Sprintf(`{"id": %q, "name": %q, "status": "active", "visibility": "public", "owner": "admin", "protected": false, "tags": [],
		"disk_format": "qcow2", "container_format": "bare", "min_disk": 0, "min_ram": 0, "size": 16338944, "checksum": null,
		"created_at": "2026-11-20T00:00:00Z", "updated_at": "2026-11-20T00:00:00Z"}`, Image, ImageName)
	all := http.NewServeMux()
	answer := func(pattern, body string) {
		all.HandleFunc("GET "+pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body) // the client has disconnected
		})
	}
	all.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMultipleChoices)
		fmt.Fprintf(w,
			`{"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": "http://%s/v2/"}]}]}`, r.Host)
	})
	answer("/v2/images", `{"images": [`+image+`]}`)
	answer("/v2/images/"+Image, image)
	// OpenStack's own clients read from an image the fields in its schema.
	answer("/v2/schemas/image", `{"name": "image", "additionalProperties": {"type": "string"}, "properties": {
		"id": {}, "name": {}, "status": {}, "visibility": {}, "owner": {}, "protected": {}, "tags": {}, "disk_format": {}, "container_format": {},
		"min_disk": {}, "min_ram": {}, "size": {}, "checksum": {}, "created_at": {}, "updated_at": {}}}`)
	return all
}
