package networkapi

import (
	"time"

	"github.com/berthcloud/berth/httpapi/pyjson"
	"github.com/berthcloud/berth/network"
)

// Attributes that most kinds have. Their functions get the Common of an object or of its spec.

func idAttribute[T, S any](of func(*T) *network.Common) attribute[T, S] {
	return attribute[T, S]{
		name: "id", use: filter | sortable, check: uuid,
		show: func(o *T) pyjson.Value { return valueOf(string(of(o).ID)) },
	}
}

func nameAttribute[T, S any](of func(*T) *network.Common, in func(*S) *network.Common) attribute[T, S] {
	return attribute[T, S]{
		name: "name", use: post | put | filter | sortable, usual: valueOf(""), check: text(255),
		set:  func(s *S, v pyjson.Value) { in(s).Name = v.Str() },
		show: func(o *T) pyjson.Value { return valueOf(of(o).Name) },
	}
}

func descriptionAttribute[T, S any](of func(*T) *network.Common, in func(*S) *network.Common) attribute[T, S] {
	return attribute[T, S]{
		name: "description", use: post | put | filter, usual: valueOf(""), check: text(255),
		set:  func(s *S, v pyjson.Value) { in(s).Description = v.Str() },
		show: func(o *T) pyjson.Value { return valueOf(of(o).Description) },
	}
}

// ownerAttribute is the project under one of its two names.
func ownerAttribute[T, S any](name string, of func(*T) *network.Common, in func(*S) *network.Common) attribute[T, S] {
	return attribute[T, S]{
		name: name, use: post | filter | sortable, check: text(255),
		set:  func(s *S, v pyjson.Value) { in(s).Project = v.Str() },
		show: func(o *T) pyjson.Value { return valueOf(of(o).Project) },
	}
}

// stamps are the attributes about changes.
func stamps[T, S any](of func(*T) *network.Common) []attribute[T, S] {
	all := tagFilters[T, S](func(o *T) []string { return of(o).Tags })
	all[0].show = func(o *T) pyjson.Value { return valueOf(of(o).Tags) }
	return append(all, []attribute[T, S]{
		{name: "created_at", use: sortable, show: func(o *T) pyjson.Value { return timeOf(of(o).CreatedAt) }},
		{name: "updated_at", use: sortable, show: func(o *T) pyjson.Value { return timeOf(of(o).UpdatedAt) }},
		{
			name: "revision_number", use: filter | sortable, convert: toInt,
			show: func(o *T) pyjson.Value { return valueOf(of(o).Revision) },
		},
	}...)
}

// timeOf is a time as the standard attributes show it, in UTC.
func timeOf(t time.Time) pyjson.Value { return valueOf(t.UTC().Format("2006-01-02T15:04:05Z")) }

// boolean is an attribute that is true or false.
func boolean[T, S any](name string, use use, usual bool, set func(*S, bool), show func(*T) bool) attribute[T, S] {
	return attribute[T, S]{
		name: name, use: use, usual: valueOf(usual), convert: toBool,
		set:  func(s *S, v pyjson.Value) { set(s, v.Bool()) },
		show: func(o *T) pyjson.Value { return valueOf(show(o)) },
	}
}

// fixed is an attribute that is always the same here.
func fixed[T, S any](name string, value any) attribute[T, S] {
	return attribute[T, S]{name: name, show: func(*T) pyjson.Value { return valueOf(value) }}
}

// reference is an attribute that names another object, or none.
func reference[T, S any](name string, use use, set func(*S, network.ID), show func(*T) network.ID) attribute[T, S] {
	return attribute[T, S]{
		name: name, use: use, check: orNull(uuid),
		set:  func(s *S, v pyjson.Value) { set(s, network.ID(v.Str())) },
		show: func(o *T) pyjson.Value { return orNone(show(o)) },
	}
}
