// Package images is the catalogue of images of "berth up", from a file that a person writes. It is
// the part of Glance that booting servers for a trial needs: images have no data, and nothing can
// be uploaded. [Parse] reads the file, a [Catalog] answers the image service's requests.
package images

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Image is what servers are booted from, with the fields of Glance's API. Members of its JSON
// that Glance has no field for are Properties.
type Image struct {
	ID              string            `json:"id"` // a UUID
	Name            string            `json:"name"`
	Status          string            `json:"status"`           // "active", "queued", "deactivated", …
	Visibility      string            `json:"visibility"`       // "public", "private", "shared" or "community"
	DiskFormat      string            `json:"disk_format"`      // "qcow2", "raw", …
	ContainerFormat string            `json:"container_format"` // "bare", …
	Size            int64             `json:"size"`             // bytes
	MinDisk         int64             `json:"min_disk"`         // GiB
	MinRAM          int64             `json:"min_ram"`          // MiB
	Owner           string            `json:"owner"`            // project
	Protected       bool              `json:"protected"`
	Hidden          bool              `json:"os_hidden"` // omitted from lists that do not request it
	Tags            []string          `json:"tags"`
	CreatedAt       time.Time         `json:"created_at"`
	UpdatedAt       time.Time         `json:"updated_at"`
	Properties      map[string]string `json:"-"` // such as hw_cpu_policy and trait:HW_CPU_X86_AVX2
}

// names are the members of an image that are no properties: the fields of Image, and those that
// Glance's list of images has and a file has no use for.
var names = []string{
	"id", "name", "status", "visibility", "disk_format", "container_format", "size", "min_disk", "min_ram", "owner",
	"protected", "os_hidden", "tags", "created_at", "updated_at", "checksum", "os_hash_algo", "os_hash_value",
	"virtual_size", "self", "file", "schema", "direct_url", "locations", "stores",
}

var (
	isUUID       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	visibilities = []string{"public", "private", "shared", "community"}
	statuses     = []string{
		"queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete", "deactivated",
	}
)

// Parse reads images from a JSON object {"images": […]}, as GET /v2/images of Glance answers.
// Images without a time of creation get now. An error names the image by its position, and what is
// wrong.
func Parse(text []byte, now time.Time) ([]Image, error) {
	var file struct {
		Images []json.RawMessage `json:"images"`
	}
	if err := decode(text, &file, false); err != nil {
		return nil, err
	}
	all := make([]Image, 0, len(file.Images))
	for n, text := range file.Images {
		image, err := parse(text, now)
		if err == nil && slices.ContainsFunc(all, func(other Image) bool { return other.ID == image.ID }) {
			err = fmt.Errorf("there is another one with the id %s", image.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", n+1, err)
		}
		all = append(all, image)
	}
	return all, nil
}

// decode reads one JSON value. Members that into does not have are errors unless extra is set.
func decode(text []byte, dst any, extra bool) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if !extra {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(dst); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is something after the object")
	}
	return nil
}

func parse(text []byte, now time.Time) (image Image, err error) {
	image = Image{Status: "active", Visibility: "public", ContainerFormat: "bare", Tags: []string{}, CreatedAt: now}
	if err := decode(text, &image, true); err != nil {
		return image, err
	}
	if image.UpdatedAt.IsZero() {
		image.UpdatedAt = image.CreatedAt
	}
	image.ID = strings.ToLower(image.ID)
	image.CreatedAt, image.UpdatedAt = image.CreatedAt.UTC(), image.UpdatedAt.UTC()
	image.Properties, err = parseProperties(text)
	switch {
	case err != nil:
	case !isUUID.MatchString(image.ID):
		err = fmt.Errorf("its id is %q, which is no UUID", image.ID)
	case !slices.Contains(visibilities, image.Visibility):
		err = fmt.Errorf("its visibility is %q, not one of %s", image.Visibility, strings.Join(visibilities, ", "))
	case !slices.Contains(statuses, image.Status):
		err = fmt.Errorf("its status is %q, not one of %s", image.Status, strings.Join(statuses, ", "))
	case image.Size < 0 || image.MinDisk < 0 || image.MinRAM < 0:
		err = errors.New("its size, min_disk or min_ram is negative")
	}
	return image, err
}

// parseProperties returns the members that are no fields of Glance's.
func parseProperties(text []byte) (map[string]string, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	properties := map[string]string{}
	for name, value := range members {
		if slices.Contains(names, name) {
			continue
		}
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, fmt.Errorf("its property %s must be a string", name)
		}
		properties[name] = s
	}
	return properties, nil
}

// A Catalog is a list of images. It may be used from many goroutines; what it returns must not be
// changed.
type Catalog struct{ all []Image }

// NewCatalog returns a Catalog of some images.
func NewCatalog(all []Image) *Catalog { return &Catalog{slices.Clone(all)} }

// Image returns the image of an id, and whether there is one.
func (c *Catalog) Image(id string) (Image, bool) {
	i := slices.IndexFunc(c.all, func(image Image) bool { return image.ID == id })
	if i < 0 {
		return Image{}, false
	}
	return c.all[i], true
}
