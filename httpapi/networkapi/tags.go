package networkapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/network"
)

// maxTag is how many characters a tag has at most.
const maxTag = 255

// tagRoutes are the paths of the tags of a kind's objects.
func (res *resource[T, S]) tagRoutes() []httpapi.Route {
	routes := res.tagRoutesAt(res.path)
	if other := "/v2.0/" + res.plural; other != res.path { // which is what they are called in the extension
		routes = append(routes, res.tagRoutesAt(other)...)
	}
	return routes
}

func (res *resource[T, S]) tagRoutesAt(path string) []httpapi.Route {
	all := path + "/{id}/tags"
	one := all + "/{tag}"
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: all, Handle: noTagPost},
		{Method: http.MethodGet, Pattern: all, Handle: res.getTags},
		{Method: http.MethodPut, Pattern: all, Handle: res.setTags},
		{Method: http.MethodDelete, Pattern: all, Handle: res.changeTags(func([]string, string) ([]string, error) { return nil, nil })},
		{Method: http.MethodGet, Pattern: one, Handle: res.hasTag},
		{Method: http.MethodPut, Pattern: one, Handle: res.changeTags(withTag)},
		{Method: http.MethodDelete, Pattern: one, Handle: res.changeTags(withoutTag)},
	}
}

// noTagPost refuses to add several tags at once, which is newer than Zed.
func noTagPost(http.ResponseWriter, *http.Request) error {
	return fault.New(fault.NotFound, codeNotFound, "not supported")
}

// withTag adds a tag; one that is there already is no more than it was.
func withTag(tags []string, tag string) ([]string, error) {
	if len(tags) >= maxTags && !slices.Contains(tags, tag) {
		return nil, tooMany("tags", len(tags)+1, maxTags)
	}
	return append(slices.Clone(tags), tag), nil
}

func withoutTag(tags []string, tag string) ([]string, error) {
	i := slices.Index(tags, tag)
	if i < 0 {
		return nil, network.TagNotFound(tag)
	}
	return slices.Delete(slices.Clone(tags), i, i+1), nil
}

// tagsOf returns the tags of the object that the path names.
func (res *resource[T, S]) tagsOf(r *http.Request) (*T, []string, error) {
	one, err := res.visible(r)
	if kind, _ := fault.Of(err); kind == fault.NotFound {
		return nil, nil, fault.New(fault.NotFound, "TagResourceNotFound", "Resource %s %s could not be found.", res.plural, httpapi.Param(r, "id"))
	}
	if err != nil {
		return nil, nil, err
	}
	return &one, textsOf(find(res.table, "tags").show(&one)), nil
}

func (res *resource[T, S]) getTags(w http.ResponseWriter, r *http.Request) error {
	_, tags, err := res.tagsOf(r)
	if err != nil {
		return err
	}
	return respondTags(w, tags)
}

func respondTags(w http.ResponseWriter, tags []string) error {
	return httpapi.Respond(w, http.StatusOK, func(j *httpapi.JSON) { j.Value(object("tags", tags)) })
}

func (res *resource[T, S]) hasTag(w http.ResponseWriter, r *http.Request) error {
	_, tags, err := res.tagsOf(r)
	if err != nil {
		return err
	}
	if tag := httpapi.Param(r, "tag"); !slices.Contains(tags, tag) {
		return network.TagNotFound(tag)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setTags replaces all tags.
func (res *resource[T, S]) setTags(w http.ResponseWriter, r *http.Request) error {
	if _, err := res.mayTag(r); err != nil {
		return err
	}
	v, err := readBody(r)
	if err != nil {
		return err
	}
	list, ok := v.Get("tags")
	if !ok {
		return invalidInput("Invalid tags body")
	}
	if list.Len() > maxTags {
		return tooMany("tags", list.Len(), maxTags)
	}
	if wrong := listOf(text(maxTag))(list); wrong != "" {
		return invalidInput("%s", wrong)
	}
	tags, err := res.tag(r.Context(), r, func([]string) ([]string, error) { return textsOf(list), nil })
	if err != nil {
		return err
	}
	return respondTags(w, tags)
}

// changeTags returns a handler that adds or removes; the one that adds answers 201.
func (res *resource[T, S]) changeTags(fn func(tags []string, tag string) ([]string, error)) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		tag := httpapi.Param(r, "tag")
		if utf8.RuneCountInString(tag) > maxTag {
			return invalidInput("%s", text(maxTag)(valueOf(tag)))
		}
		if _, err := res.tag(r.Context(), r, func(tags []string) ([]string, error) { return fn(tags, tag) }); err != nil {
			return err
		}
		if r.Method == http.MethodPut {
			return httpapi.Respond(w, http.StatusCreated, func(j *httpapi.JSON) { j.Value(valueOf(nil)) })
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// tag changes the tags of the object in the path, for a caller who may change it.
func (res *resource[T, S]) tag(ctx context.Context, r *http.Request, fn func([]string) ([]string, error)) ([]string, error) {
	one, err := res.mayTag(r)
	if err != nil {
		return nil, err
	}
	only, err := parseCondition(r)
	if err != nil {
		return nil, err
	}
	return res.api.Network.SetTags(ctx, res.name, network.ID(res.id(one)), fn, only.check)
}

// mayTag returns the object that the path names, if the caller may change its tags.
func (res *resource[T, S]) mayTag(r *http.Request) (*T, error) {
	one, _, err := res.tagsOf(r)
	if err != nil {
		return nil, err
	}
	return one, res.api.allow(r.Context(), "update_"+res.ruled(), res.about(one))
}

// tagFilters are the four filters by tags: all of them, any, not all, not any. Tags
// are separated by commas.
func tagFilters[T, S any](tags func(*T) []string) []attribute[T, S] {
	filterBy := func(name string, keep func(all, any bool) bool) attribute[T, S] {
		return attribute[T, S]{name: name, use: filter, with: func(values []string) func(*T) bool {
			wanted := setOf(strings.Split(strings.Join(values, ","), ","))
			return func(o *T) bool {
				there := 0
				for _, tag := range tags(o) { // which has each once
					if wanted[tag] {
						there++
					}
				}
				return keep(there == len(wanted), there > 0)
			}
		}}
	}
	return []attribute[T, S]{
		filterBy("tags", func(all, _ bool) bool { return all }),
		filterBy("tags-any", func(_, any bool) bool { return any }),
		filterBy("not-tags", func(all, _ bool) bool { return !all }),
		filterBy("not-tags-any", func(_, any bool) bool { return !any }),
	}
}
