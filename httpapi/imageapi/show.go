package imageapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/images"
)

// image is the one that a path names.
func (a *API) image(r *http.Request) (images.Image, error) {
	id := httpapi.Param(r, "id")
	image, ok := a.Catalog.Image(strings.ToLower(id))
	if !ok {
		return image, fault.New(fault.NotFound, "", "No image found with ID %s", id)
	}
	return image, nil
}

func (a *API) show(w http.ResponseWriter, r *http.Request) error {
	image, err := a.image(r)
	if err != nil {
		return err
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { render(j, &image) })
}

// file answers as Glance does for an image without data.
func (a *API) file(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.image(r); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// members answers with those that a shared image has, which are none.
func (a *API) members(w http.ResponseWriter, r *http.Request) error {
	image, err := a.image(r)
	if err != nil {
		return err
	}
	if image.Visibility != "shared" {
		return fault.New(fault.Denied, "", "Only shared images have members.")
	}
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		j.Object()
		j.Key("members")
		j.Array()
		j.EndArray()
		j.Key("schema")
		j.String("/v2/schemas/members")
		j.EndObject()
	})
}

// render writes an image, with its properties next to its fields.
func render(j *httpapi.JSON, image *images.Image) {
	text := func(key, value string) {
		j.Key(key)
		if value == "" {
			j.Null()
			return
		}
		j.String(value)
	}
	j.Object()
	for _, name := range slices.Sorted(maps.Keys(image.Properties)) {
		j.Key(name)
		j.String(image.Properties[name])
	}
	text("name", image.Name)
	text("disk_format", image.DiskFormat)
	text("container_format", image.ContainerFormat)
	text("visibility", image.Visibility)
	j.Key("size")
	j.Int(image.Size)
	text("virtual_size", "")
	text("status", image.Status)
	text("checksum", "")
	j.Key("protected")
	j.Bool(image.Protected)
	j.Key("min_ram")
	j.Int(image.MinRAM)
	j.Key("min_disk")
	j.Int(image.MinDisk)
	text("owner", image.Owner)
	j.Key("os_hidden")
	j.Bool(image.Hidden)
	text("os_hash_algo", "")
	text("os_hash_value", "")
	text("id", image.ID)
	text("created_at", image.CreatedAt.Format(time.RFC3339))
	text("updated_at", image.UpdatedAt.Format(time.RFC3339))
	j.Key("tags")
	j.Array()
	for _, tag := range image.Tags {
		j.String(tag)
	}
	j.EndArray()
	text("self", "/v2/images/"+image.ID)
	text("file", "/v2/images/"+image.ID+"/file")
	text("schema", "/v2/schemas/image")
	j.EndObject()
}
