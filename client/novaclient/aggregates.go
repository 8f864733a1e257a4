package novaclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/network"
)

var _ network.Aggregates = (*Client)(nil)

// aggregateVersion is the first version of the API that shows the UUIDs of aggregates.
const aggregateVersion = "compute 2.41"

type wireAggregate struct {
	ID    int64    `json:"id"`
	UUID  string   `json:"uuid"`
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
}

func (w *wireAggregate) aggregate() network.Aggregate {
	return network.Aggregate{Number: w.ID, ID: w.UUID, Name: w.Name, Hosts: w.Hosts}
}

type oneAggregate struct {
	Aggregate *wireAggregate `json:"aggregate"`
}

func (o *oneAggregate) Valid() bool { return o.Aggregate != nil && o.Aggregate.UUID != "" }

type allAggregates struct {
	Aggregates []wireAggregate `json:"aggregates"`
}

func (a *allAggregates) Valid() bool { return a.Aggregates != nil }

func aggregatePath(number int64) string { return fmt.Sprintf("/os-aggregates/%d", number) }

// Aggregates implements network.Aggregates.
func (c *Client) Aggregates(ctx context.Context) ([]network.Aggregate, error) {
	var answer allAggregates
	err := c.service.Call(ctx, client.Request{
		Method: http.MethodGet, Path: "/os-aggregates", Version: aggregateVersion,
	}, &answer)
	if err != nil {
		return nil, err
	}
	all := make([]network.Aggregate, len(answer.Aggregates))
	for i := range answer.Aggregates {
		all[i] = answer.Aggregates[i].aggregate()
	}
	return all, nil
}

// CreateAggregate implements network.Aggregates. A request that is repeated because the answer was
// lost may be refused: then an aggregate of the name exists.
func (c *Client) CreateAggregate(ctx context.Context, name string) (network.Aggregate, error) {
	var answer oneAggregate
	err := c.service.Call(ctx, client.Request{
		Method: http.MethodPost, Path: "/os-aggregates", Version: aggregateVersion,
		Body: map[string]map[string]string{"aggregate": {"name": name}},
	}, &answer)
	if r := client.Refused(err, http.StatusConflict); r != nil {
		return network.Aggregate{}, client.Known(r, network.ErrTaken)
	}
	if err != nil {
		return network.Aggregate{}, err
	}
	return answer.Aggregate.aggregate(), nil
}

// AddHost implements network.Aggregates. Compute refuses a host that is in the aggregate with the
// same status as one that may not be, so that the aggregate is read then.
func (c *Client) AddHost(ctx context.Context, aggregate int64, host string) error {
	err := c.changeHosts(ctx, aggregate, "add_host", host)
	if r := client.Refused(err, http.StatusNotFound); r != nil && r.Code == codeNotFound {
		return client.Known(r, network.ErrNoHost)
	}
	if r := client.Refused(err, http.StatusConflict); r != nil {
		var current oneAggregate
		read := c.service.Call(ctx, client.Request{
			Method: http.MethodGet, Path: aggregatePath(aggregate), Version: aggregateVersion,
		}, &current)
		if read == nil && slices.Contains(current.Aggregate.Hosts, host) {
			return nil
		}
	}
	return err
}

// RemoveHost implements network.Aggregates.
func (c *Client) RemoveHost(ctx context.Context, aggregate int64, host string) error {
	return unlessMissing(c.changeHosts(ctx, aggregate, "remove_host", host))
}

func (c *Client) changeHosts(ctx context.Context, aggregate int64, action, host string) error {
	return c.service.Call(ctx, client.Request{
		Method: http.MethodPost, Path: aggregatePath(aggregate) + "/action", Version: aggregateVersion,
		Body: map[string]map[string]string{action: {"host": host}},
	}, nil)
}

// DeleteAggregate implements network.Aggregates.
func (c *Client) DeleteAggregate(ctx context.Context, aggregate int64) error {
	return unlessMissing(c.service.Call(ctx, client.Request{
		Method: http.MethodDelete, Path: aggregatePath(aggregate), Version: aggregateVersion,
	}, nil))
}

// unlessMissing removes compute's refusal of an object that does not exist.
func unlessMissing(err error) error {
	if r := client.Refused(err, http.StatusNotFound); r != nil && r.Code == codeNotFound {
		return nil
	}
	return err
}
