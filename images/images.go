// Package images are the images of one machine, from a file in which a person writes
// them. It is the part of Glance that booting servers for a trial needs: there are no
// bytes behind an image, and nothing can be uploaded.
package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Image is what servers are booted from. Its file shows it as Glance does; what
// Glance has no name for are Properties.
type Image struct {
	ID              string // a UUID
	Name            string
	Status          string // "active", "queued", "deactivated", …
	Visibility      string // "public", "private", "shared" or "community"
	DiskFormat      string // "qcow2", "raw", …
	ContainerFormat string // "bare", …
	Size            int64  // bytes
	MinDisk         int64  // GiB
	MinRAM          int64  // MiB
	Owner           string // project
	Protected       bool
	Hidden          bool // os_hidden: left out of lists that do not ask for it
	Tags            []string
	CreatedAt       time.Time
	UpdatedAt       time.Time
	Properties      map[string]string // such as hw_cpu_policy and trait:HW_CPU_X86_AVX2
}

// written has the fields that a file may set, by their names in Glance's API. What it may not are
// those that follow from the others.
type written struct {
	ID              string     `json:"id"`
	Name            string     `json:"name"`
	Status          string     `json:"status"`
	Visibility      string     `json:"visibility"`
	DiskFormat      string     `json:"disk_format"`
	ContainerFormat string     `json:"container_format"`
	Size            int64      `json:"size"`
	MinDisk         int64      `json:"min_disk"`
	MinRAM          int64      `json:"min_ram"`
	Owner           string     `json:"owner"`
	Protected       bool       `json:"protected"`
	Hidden          bool       `json:"os_hidden"`
	Tags            []string   `json:"tags"`
	CreatedAt       *time.Time `json:"created_at"`
	UpdatedAt       *time.Time `json:"updated_at"`
}

// names are the fields of written, and those of Glance that a file has no use for: it
// may be what Glance's list of images printed.
var names = []string{
	"id", "name", "status", "visibility", "disk_format", "container_format", "size", "min_disk", "min_ram", "owner", "protected",
	"os_hidden", "tags", "created_at", "updated_at",
	"checksum", "os_hash_algo", "os_hash_value", "virtual_size", "self", "file", "schema", "direct_url", "locations", "stores",
}

var (
	isUUID       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	visibilities = []string{"public", "private", "shared", "community"}
	statuses     = []string{"queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete", "deactivated"}
)

// Parse reads images from a JSON object {"images": […]}, as GET /v2/images of Glance
// answers. Those that do not say when they were made were made now. An error names the
// image and what is wrong about it.
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

func decode(text []byte, into any, extra bool) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if !extra {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("there is something after the object")
	}
	return nil
}

func parse(text []byte, now time.Time) (Image, error) {
	w := written{Status: "active", Visibility: "public", ContainerFormat: "bare", Tags: []string{}, CreatedAt: &now}
	if err := decode(text, &w, true); err != nil {
		return Image{}, err
	}
	if w.UpdatedAt == nil {
		w.UpdatedAt = w.CreatedAt
	}
	w.ID = strings.ToLower(w.ID)
	properties, err := parseProperties(text)
	switch {
	case err != nil:
		return Image{}, err
	case !isUUID.MatchString(w.ID):
		return Image{}, fmt.Errorf("its id is %q, which is no UUID", w.ID)
	case !slices.Contains(visibilities, w.Visibility):
		return Image{}, fmt.Errorf("its visibility is %q, not one of %s", w.Visibility, strings.Join(visibilities, ", "))
	case !slices.Contains(statuses, w.Status):
		return Image{}, fmt.Errorf("its status is %q, not one of %s", w.Status, strings.Join(statuses, ", "))
	case w.Size < 0 || w.MinDisk < 0 || w.MinRAM < 0:
		return Image{}, fmt.Errorf("its size, min_disk or min_ram is negative")
	}
	return Image{
		ID: w.ID, Name: w.Name, Status: w.Status, Visibility: w.Visibility, DiskFormat: w.DiskFormat, ContainerFormat: w.ContainerFormat,
		Size: w.Size, MinDisk: w.MinDisk, MinRAM: w.MinRAM, Owner: w.Owner, Protected: w.Protected, Hidden: w.Hidden, Tags: w.Tags,
		CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(), Properties: properties,
	}, nil
}

// parseProperties returns the members of an object that are no fields of Glance's.
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

// A Catalog is all images. It may be used from many goroutines, and nobody may change
// what it returns.
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
