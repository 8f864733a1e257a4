package networkapi

import (
	"time"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/httpapi/resource"
	"github.com/berthcloud/berth/network"
)

// The uses of attributes, which tables combine.
const (
	post       = resource.Post
	put        = resource.Put
	required   = resource.Required
	filterable = resource.Filterable
	sortable   = resource.Sortable
	guarded    = resource.Guarded
	ignored    = resource.Ignored
)

// Attributes that most kinds have. Their functions get the Common of an object or of its spec.

func idAttribute[T, S any](common func(*T) *network.Common) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: "id", Use: filterable | sortable, Check: resource.UUID,
		Show: func(o *T) pyjson.Value { return pyjson.Of(string(common(o).ID)) },
	}
}

func nameAttribute[T, S any](common func(*T) *network.Common, spec func(*S) *network.Common) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: "name", Use: post | put | filterable | sortable, Default: pyjson.Of(""), Check: resource.MaxLength(255),
		Set:  func(s *S, v pyjson.Value) { spec(s).Name = v.Str() },
		Show: func(o *T) pyjson.Value { return pyjson.Of(common(o).Name) },
	}
}

func descriptionAttribute[T, S any](
	common func(*T) *network.Common, spec func(*S) *network.Common,
) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: "description", Use: post | put | filterable, Default: pyjson.Of(""), Check: resource.MaxLength(255),
		Set:  func(s *S, v pyjson.Value) { spec(s).Description = v.Str() },
		Show: func(o *T) pyjson.Value { return pyjson.Of(common(o).Description) },
	}
}

// ownerAttribute is the project under one of its two names.
func ownerAttribute[T, S any](
	name string, common func(*T) *network.Common, spec func(*S) *network.Common,
) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: name, Use: post | filterable | sortable, Check: resource.MaxLength(255),
		Set:  func(s *S, v pyjson.Value) { spec(s).Project = v.Str() },
		Show: func(o *T) pyjson.Value { return pyjson.Of(common(o).Project) },
	}
}

// stamps are the attributes about changes.
func stamps[T, S any](common func(*T) *network.Common) []resource.Attribute[T, S] {
	all := resource.TagFilters[T, S](func(o *T) []string { return common(o).Tags })
	all[0].Show = func(o *T) pyjson.Value { return pyjson.Of(common(o).Tags) }
	return append(all, []resource.Attribute[T, S]{
		{Name: "created_at", Use: sortable, Show: func(o *T) pyjson.Value { return timeOf(common(o).CreatedAt) }},
		{Name: "updated_at", Use: sortable, Show: func(o *T) pyjson.Value { return timeOf(common(o).UpdatedAt) }},
		{
			Name: "revision_number", Use: filterable | sortable, Convert: resource.ToInt,
			Show: func(o *T) pyjson.Value { return pyjson.Of(common(o).Revision) },
		},
	}...)
}

// timeOf is a time as the standard attributes show it, in UTC.
func timeOf(t time.Time) pyjson.Value { return pyjson.Of(t.UTC().Format("2006-01-02T15:04:05Z")) }

// boolean is an attribute that is true or false.
func boolean[T, S any](
	name string, use resource.Use, usual bool, set func(*S, bool), show func(*T) bool,
) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: name, Use: use, Default: pyjson.Of(usual), Convert: resource.ToBool,
		Set:  func(s *S, v pyjson.Value) { set(s, v.Bool()) },
		Show: func(o *T) pyjson.Value { return pyjson.Of(show(o)) },
	}
}

// fixed is an attribute that is always the same here.
func fixed[T, S any](name string, value pyjson.Value) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{Name: name, Show: func(*T) pyjson.Value { return value }}
}

// reference is an attribute that names another object, or none.
func reference[T, S any](
	name string, use resource.Use, set func(*S, network.ID), show func(*T) network.ID,
) resource.Attribute[T, S] {
	return resource.Attribute[T, S]{
		Name: name, Use: use, Check: resource.Nullable(resource.UUID),
		Set:  func(s *S, v pyjson.Value) { set(s, network.ID(v.Str())) },
		Show: func(o *T) pyjson.Value { return resource.TextOrNull(show(o)) },
	}
}
