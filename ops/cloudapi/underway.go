package cloudapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// An Operation is something under way with a server, as Berth's compute service lists it.
type Operation struct {
	ID        string     `json:"id"`
	Server    string     `json:"server"`
	Project   string     `json:"project_id"`
	Kind      string     `json:"kind"`
	Step      string     `json:"step"`
	Direction string     `json:"direction"` // forward, back
	Created   time.Time  `json:"created_at"`
	State     string     `json:"state"` // running, waiting, delayed, ready
	Worker    string     `json:"worker"`
	Until     *time.Time `json:"until"` // the end of the lease of a worker, or of the delay
	Awaits    *Awaited   `json:"awaits"`
	Cause     string     `json:"cause"`
}

// An Awaited is what a host has yet to report.
type Awaited struct {
	Event  string `json:"event"`
	Host   string `json:"host"`
	HostUp bool   `json:"host_up"`
}

// A Change is a change of a server's allocations that is under way for a port, as Berth's network
// service lists it.
type Change struct {
	ID          string                      `json:"id"`
	Kind        string                      `json:"kind"` // policy, release
	Port        string                      `json:"port"`
	Server      string                      `json:"server"`
	Created     time.Time                   `json:"created_at"`
	State       string                      `json:"state"` // requested, unknown, made, waiting
	Instance    string                      `json:"instance"`
	Abandoned   bool                        `json:"abandoned"`
	Attempted   *time.Time                  `json:"attempted_at"`
	Differences map[string]map[string]int64 `json:"differences"`
}

// ErrNotBerth is the error of Operations, Changes and ExplainOwn where the service is another one.
var ErrNotBerth = errors.New("the service is not Berth's")

// Operations lists what is under way with servers, the oldest first, and reports whether there is
// more than the query's limit.
func (c *Client) Operations(ctx context.Context, query url.Values) ([]Operation, bool, error) {
	var answer struct {
		Operations []Operation `json:"operations"`
		More       bool        `json:"more"`
	}
	err := c.own(ctx, "compute", "berth/v1/operations", query, &answer)
	return answer.Operations, answer.More, err
}

// Changes lists which changes of allocations are under way for ports, as Operations does.
func (c *Client) Changes(ctx context.Context, query url.Values) ([]Change, bool, error) {
	var answer struct {
		Changes []Change `json:"changes"`
		More    bool     `json:"more"`
	}
	err := c.own(ctx, "network", "berth/v1/changes", query, &answer)
	return answer.Changes, answer.More, err
}

// ExplainOwn has the placement service explain a query to a user who may not see the cloud, into
// what its answer (GET /berth/v1/own/explain) is decoded to. The error wraps ErrNotBerth where the
// service has no such answers.
func (c *Client) ExplainOwn(ctx context.Context, query url.Values, into any) error {
	return c.own(ctx, "placement", "berth/v1/own/explain", query, into)
}

// versionPart is what endpoints of the compute and the network service end in, with or without a
// project. Berth's own routes are not below it.
var versionPart = regexp.MustCompile(`/v2(\.[01])?/([^/]+/)?$`)

// own gets what only Berth's services have.
func (c *Client) own(ctx context.Context, kind, path string, query url.Values, into any) error {
	s, err := c.service(kind, "")
	if err != nil {
		return err
	}
	s.Endpoint = versionPart.ReplaceAllString(s.Endpoint, "/")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	err = get(ctx, s, path, into)
	if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusMultipleChoices) {
		return errors.Join(ErrNotBerth, err)
	}
	return err
}
