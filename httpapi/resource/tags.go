package resource

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/httpapi"
	"github.com/berthcloud/berth/httpapi/pyjson"
)

// maxTag is how many characters a tag has at most.
const maxTag = 255

// TagRoutes are the paths of the tags of a kind's objects.
func (res *Resource[T, S]) TagRoutes() []httpapi.Route {
	routes := res.tagRoutesAt(res.Path)
	if other := "/v2.0/" + res.Plural; other != res.Path { // which is what they are called in the extension
		routes = append(routes, res.tagRoutesAt(other)...)
	}
	return routes
}

func (res *Resource[T, S]) tagRoutesAt(path string) []httpapi.Route {
	all := path + "/{id}/tags"
	one := all + "/{tag}"
	return []httpapi.Route{
		{Method: http.MethodPost, Pattern: all, Handle: res.addTags},
		{Method: http.MethodGet, Pattern: all, Handle: res.getTags},
		{Method: http.MethodPut, Pattern: all, Handle: res.setTags},
		{
			Method: http.MethodDelete, Pattern: all,
			Handle: res.changeTags(func([]string, string) ([]string, error) { return nil, nil }),
		},
		{Method: http.MethodGet, Pattern: one, Handle: res.hasTag},
		{Method: http.MethodPut, Pattern: one, Handle: res.changeTags(withTag)},
		{Method: http.MethodDelete, Pattern: one, Handle: res.changeTags(withoutTag)},
	}
}

// withTag adds a tag, unless the object has it.
func withTag(tags []string, tag string) ([]string, error) {
	if len(tags) >= maxTags && !slices.Contains(tags, tag) {
		return nil, TooMany("tags", len(tags)+1, maxTags)
	}
	return append(slices.Clone(tags), tag), nil
}

func withoutTag(tags []string, tag string) ([]string, error) {
	i := slices.Index(tags, tag)
	if i < 0 {
		return nil, tagNotFound(tag)
	}
	return slices.Delete(slices.Clone(tags), i, i+1), nil
}

func tagNotFound(tag string) error {
	return fault.New(fault.NotFound, "TagNotFound", "Tag %s could not be found.", tag)
}

// tagsOf returns the tags of the object that the path names.
func (res *Resource[T, S]) tagsOf(r *http.Request) (*T, []string, error) {
	one, err := res.Visible(r)
	if kind, _ := fault.Of(err); kind == fault.NotFound {
		return nil, nil, fault.New(fault.NotFound, "TagResourceNotFound", "Resource %s %s could not be found.", res.Plural,
			httpapi.Param(r, "id"))
	}
	if err != nil {
		return nil, nil, err
	}
	return &one, Texts(Find(res.Table, "tags").Show(&one)), nil
}

func (res *Resource[T, S]) getTags(w http.ResponseWriter, r *http.Request) error {
	_, tags, err := res.tagsOf(r)
	if err != nil {
		return err
	}
	return respondTags(w, http.StatusOK, tags)
}

func respondTags(w http.ResponseWriter, status int, tags []string) error {
	return httpapi.Respond(w, status, func(j *httpapi.JSON) { j.Value(pyjson.NewObject(pyjson.M("tags", tags))) })
}

func (res *Resource[T, S]) hasTag(w http.ResponseWriter, r *http.Request) error {
	_, tags, err := res.tagsOf(r)
	if err != nil {
		return err
	}
	if tag := httpapi.Param(r, "tag"); !slices.Contains(tags, tag) {
		return tagNotFound(tag)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setTags replaces all tags.
func (res *Resource[T, S]) setTags(w http.ResponseWriter, r *http.Request) error {
	if _, err := res.mayTag(r); err != nil {
		return err
	}
	given, err := readTags(r)
	if err != nil {
		return err
	}
	tags, err := res.tag(r.Context(), r, func([]string) ([]string, error) { return given, nil })
	if err != nil {
		return err
	}
	return respondTags(w, http.StatusOK, tags)
}

// addTags adds several tags, of which the object may have some. The answer has those of the
// request, as in Neutron's TagPlugin.create_tags (extension tag-creation, 2025.1).
func (res *Resource[T, S]) addTags(w http.ResponseWriter, r *http.Request) error {
	if _, err := res.mayTag(r); err != nil {
		return err
	}
	given, err := readTags(r)
	if err != nil {
		return err
	}
	_, err = res.tag(r.Context(), r, func(tags []string) ([]string, error) {
		var err error
		for _, tag := range given {
			if tags, err = withTag(tags, tag); err != nil {
				return nil, err
			}
		}
		return tags, nil
	})
	if err != nil {
		return err
	}
	return respondTags(w, http.StatusCreated, given)
}

// readTags returns the tags in the body of a request, in its order.
func readTags(r *http.Request) ([]string, error) {
	v, err := ReadBody(r)
	if err != nil {
		return nil, err
	}
	list, ok := v.Get("tags")
	if !ok {
		return nil, InvalidInput("Invalid tags body")
	}
	if list.Len() > maxTags {
		return nil, TooMany("tags", list.Len(), maxTags)
	}
	if wrong := ListOf(MaxLength(maxTag))(list); wrong != "" {
		return nil, InvalidInput("%s", wrong)
	}
	return Texts(list), nil
}

// changeTags returns a handler that adds or removes; the one that adds answers 201.
func (res *Resource[T, S]) changeTags(fn func(tags []string, tag string) ([]string, error)) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		tag := httpapi.Param(r, "tag")
		if utf8.RuneCountInString(tag) > maxTag {
			return InvalidInput("%s", MaxLength(maxTag)(pyjson.Of(tag)))
		}
		if _, err := res.tag(r.Context(), r, func(tags []string) ([]string, error) { return fn(tags, tag) }); err != nil {
			return err
		}
		if r.Method == http.MethodPut {
			return httpapi.Respond(w, http.StatusCreated, func(j *httpapi.JSON) { j.Value(pyjson.Value{}) })
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// tag changes the tags of the object in the path, for a caller who may change it.
func (res *Resource[T, S]) tag(
	ctx context.Context, r *http.Request, fn func([]string) ([]string, error),
) ([]string, error) {
	one, err := res.mayTag(r)
	if err != nil {
		return nil, err
	}
	only, err := ParseCondition(r)
	if err != nil {
		return nil, err
	}
	return res.API.SetTags(ctx, res.Name, res.ID(one), fn, only)
}

// mayTag returns the object that the path names, if the caller may change its tags.
func (res *Resource[T, S]) mayTag(r *http.Request) (*T, error) {
	one, _, err := res.tagsOf(r)
	if err != nil {
		return nil, err
	}
	return one, res.API.Allow(r.Context(), "update_"+res.policyName(), res.Target(one))
}

// TagFilters are the four filters by tags: all of them, any, not all, not any. Tags
// are separated by commas.
func TagFilters[T, S any](tags func(*T) []string) []Attribute[T, S] {
	filterBy := func(name string, keep func(all, some bool) bool) Attribute[T, S] {
		return Attribute[T, S]{Name: name, Use: Filterable, Filter: func(values []string) func(*T) bool {
			required := SetOf(strings.Split(strings.Join(values, ","), ","))
			return func(o *T) bool {
				matches := 0
				for _, tag := range tags(o) { // which has each once
					if required[tag] {
						matches++
					}
				}
				return keep(matches == len(required), matches > 0)
			}
		}}
	}
	return []Attribute[T, S]{
		filterBy("tags", func(all, _ bool) bool { return all }),
		filterBy("tags-any", func(_, some bool) bool { return some }),
		filterBy("not-tags", func(all, _ bool) bool { return !all }),
		filterBy("not-tags-any", func(_, some bool) bool { return !some }),
	}
}
