package logging

import (
	"cmp"
	"context"
	"log/slog"
)

// An Origin identifies the request of a record. Empty fields are unknown.
type Origin struct {
	RequestID string
	GlobalID  string // the id of the calling service's own request
	User      string
	Project   string
}

// attrs returns the fields that are set.
func (o *Origin) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 4)
	for _, a := range [...]slog.Attr{
		slog.String("request_id", o.RequestID),
		slog.String("global_request_id", o.GlobalID),
		slog.String("user", o.User),
		slog.String("project", o.Project),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// Key is the key under which a context has the *Origin of the records that are
// logged with it.
type Key struct{}

// origin returns the origin in ctx under Key, or nil.
func origin(ctx context.Context) *Origin {
	o, _ := ctx.Value(Key{}).(*Origin)
	return o
}

// GlobalID returns the id of the request of ctx across services: the one from the calling service,
// or else the request's own. It is "" outside requests.
func GlobalID(ctx context.Context) string {
	o := origin(ctx)
	if o == nil {
		return ""
	}
	return cmp.Or(o.GlobalID, o.RequestID)
}
