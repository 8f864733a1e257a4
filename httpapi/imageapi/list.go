package imageapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/images"
)

// defaultLimit and maxLimit bound how many images are in one answer (limit_param_default,
// api_limit_max).
const (
	defaultLimit = 25
	maxLimit     = 1000
)

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...)
}

// list answers with a page of the images.
func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("The query string is malformed.")
	}
	limit, err := limitOf(values)
	if err != nil {
		return err
	}
	by, err := sortOf(values)
	if err != nil {
		return err
	}
	filter, err := filterOf(values)
	if err != nil {
		return err
	}
	all := a.Catalog.List(filter, by...)
	if marker := values.Get("marker"); marker != "" {
		i := slices.IndexFunc(all, func(image images.Image) bool { return image.ID == marker })
		if i < 0 {
			return invalid("Image %s could not be found.", marker)
		}
		all = all[i+1:]
	}
	page := all[:min(limit, len(all))]
	values.Del("marker")
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) {
		renderList(j, page, len(page) > 0 && len(page) == limit, values)
	})
}

func renderList(j *httpapi.JSON, page []images.Image, more bool, values url.Values) {
	j.Object()
	j.Key("images")
	j.Array()
	for i := range page {
		render(j, &page[i])
	}
	j.EndArray()
	j.Key("first")
	j.String(link(values))
	j.Key("schema")
	j.String("/v2/schemas/images")
	if more {
		values.Set("marker", page[len(page)-1].ID)
		j.Key("next")
		j.String(link(values))
	}
	j.EndObject()
}

func link(values url.Values) string {
	if len(values) == 0 {
		return "/v2/images"
	}
	return "/v2/images?" + values.Encode()
}

func limitOf(values url.Values) (int, error) {
	text := values.Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, invalid("limit param must be an integer")
	case n < 0:
		return 0, invalid("limit param must be positive")
	}
	return min(n, maxLimit), nil
}

// sortOf reads an order in either form: sort=name:asc,size or sort_key and sort_dir.
func sortOf(values url.Values) (by []images.Sort, err error) {
	keys, directions := values["sort_key"], values["sort_dir"]
	if values.Has("sort") {
		if len(keys) > 0 || len(directions) > 0 {
			return nil, invalid("Old and new sorting syntax cannot be combined")
		}
		for part := range strings.SplitSeq(values.Get("sort"), ",") {
			key, direction, _ := strings.Cut(part, ":")
			keys, directions = append(keys, key), append(directions, direction)
		}
	}
	if len(directions) > 1 && len(directions) != len(keys) {
		return nil, invalid("Number of sort dirs does not match the number of sort keys")
	}
	if len(keys) == 0 {
		keys = []string{"created_at"}
	}
	for i, key := range keys {
		direction := "desc"
		if len(directions) > 0 {
			direction = strings.TrimSpace(directions[min(i, len(directions)-1)])
		}
		key = strings.TrimSpace(key)
		switch {
		case !slices.Contains(images.SortKeys, key):
			return nil, invalid("Invalid sort key: %s. It must be one of the following: %s.", key,
				strings.Join(images.SortKeys, ", "))
		case direction != "" && direction != "asc" && direction != "desc":
			return nil, invalid("Invalid sort direction: %s", direction)
		}
		by = append(by, images.Sort{Key: key, Descending: direction != "asc"})
	}
	return by, nil
}

// several are the filters that take one of several values, as in:a,b.
var several = []string{"id", "name", "status", "container_format", "disk_format"}

// filterOf reads a filter. Unknown parameters are properties.
func filterOf(values url.Values) (f images.Filter, err error) {
	f.Fields = map[string][]string{}
	for name := range values {
		if err := narrow(&f, name, values[name]); err != nil {
			return f, err
		}
	}
	return f, nil
}

// narrow adds a parameter to a filter.
func narrow(f *images.Filter, name string, values []string) (err error) {
	value := values[0]
	switch name {
	case "limit", "marker", "sort", "sort_key", "sort_dir", "member_status":
	case "tag":
		f.Tags = values
	case "size_min":
		f.SizeMin, err = size(value)
	case "size_max":
		f.SizeMax, err = size(value)
	case "os_hidden":
		f.Hidden, err = truth(name, value)
	case "protected":
		var b bool
		b, err = truth(name, value)
		f.Fields[name] = []string{strconv.FormatBool(b)}
	case "visibility":
		if !slices.Contains(visibilities, value) {
			return invalid("Invalid visibility value: %s", value)
		}
		if value != "all" {
			f.Fields[name] = []string{value}
		}
	default:
		f.Fields[name] = []string{value}
		if rest, ok := strings.CutPrefix(value, "in:"); ok && slices.Contains(several, name) {
			f.Fields[name] = strings.Split(rest, ",")
		}
	}
	return err
}

// visibilities are the accepted values of the filter.
var visibilities = []string{"community", "public", "private", "shared", "all"}

// truth reads true or false, whatever the case.
func truth(name, text string) (bool, error) {
	text = strings.ToLower(text)
	if text != "true" && text != "false" {
		return false, invalid("Invalid value '%s' for '%s' filter. Valid values are 'true' or 'false'.", text, name)
	}
	return text == "true", nil
}

// size reads a number of bytes.
func size(text string) (*int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, invalid("Cannot convert image size '%s' to an integer.", text)
	}
	return &n, nil
}
