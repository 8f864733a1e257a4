package images

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// A Filter selects images for a list. The zero value selects all that are not hidden.
type Filter struct {
	// Fields are values by the name of a field or a property, of which an image has
	// one: "name", "status", "disk_format", "hw_cpu_policy", …
	Fields  map[string][]string
	Tags    []string // that an image has all of
	SizeMin *int64   // bytes
	SizeMax *int64
	Hidden  bool // those that are hidden, and no others
}

// A Sort is a key that a list is ordered by.
type Sort struct {
	Key        string // one of SortKeys
	Descending bool
}

// SortKeys are the keys that lists can be ordered by, as in Glance.
var SortKeys = []string{"name", "status", "container_format", "disk_format", "size", "id", "created_at", "updated_at"}

// List returns the images that match a filter, ordered by the given keys and finally by id.
func (c *Catalog) List(f Filter, sorts ...Sort) []Image {
	all := slices.DeleteFunc(slices.Clone(c.all), func(image Image) bool { return !f.lets(&image) })
	slices.SortFunc(all, func(a, b Image) int {
		for _, s := range sorts {
			order := compare(&a, &b, s.Key)
			if s.Descending {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return all
}

// lets reports whether an image matches.
func (f *Filter) lets(image *Image) bool {
	if image.Hidden != f.Hidden || f.SizeMin != nil && image.Size < *f.SizeMin ||
		f.SizeMax != nil && image.Size > *f.SizeMax {
		return false
	}
	for _, tag := range f.Tags {
		if !slices.Contains(image.Tags, tag) {
			return false
		}
	}
	for name, values := range f.Fields {
		if value, ok := image.field(name); !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}

// compare orders two images by a field.
func compare(a, b *Image, key string) int {
	if key == "size" {
		return cmp.Compare(a.Size, b.Size)
	}
	value, _ := a.field(key)
	other, _ := b.field(key)
	return cmp.Compare(value, other)
}

// field returns a field or a property as queries write it, and whether the image has it.
func (image *Image) field(name string) (value string, ok bool) {
	switch name {
	case "id":
		return image.ID, true
	case "name":
		return image.Name, true
	case "status":
		return image.Status, true
	case "visibility":
		return image.Visibility, true
	case "disk_format":
		return image.DiskFormat, true
	case "container_format":
		return image.ContainerFormat, true
	case "owner":
		return image.Owner, true
	case "size":
		return strconv.FormatInt(image.Size, 10), true
	case "min_disk":
		return strconv.FormatInt(image.MinDisk, 10), true
	case "min_ram":
		return strconv.FormatInt(image.MinRAM, 10), true
	case "protected":
		return strconv.FormatBool(image.Protected), true
	case "os_hidden":
		return strconv.FormatBool(image.Hidden), true
	case "created_at":
		return image.CreatedAt.Format(time.RFC3339), true
	case "updated_at":
		return image.UpdatedAt.Format(time.RFC3339), true
	}
	value, ok = image.Properties[name]
	return value, ok
}
