package ovs

import (
	"context"
	"errors"
	"fmt"

	"github.com/berthcloud/berth/agent/ovsdb"
)

var (
	errForeign = errors.New("it is not ours")
	errNoQoS   = errors.New("the device has no QoS of ours")
)

// A holder is a device's row with the QoS that it has.
type holder struct {
	*rows
	port ovsdb.Row
	id   ovsdb.UUID // of the QoS, "" for none
	qos  ovsdb.Row
}

func (s *Switch) holder(ctx context.Context, device string) (*holder, error) {
	r, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, port := range r.ports {
		if ovsdb.Value[string](port, "name") == device {
			id := ovsdb.Value[ovsdb.UUID](port, "qos")
			return &holder{r, port, id, r.qos[id]}, nil
		}
	}
	return nil, fmt.Errorf("the switch has no port %s", device)
}

// is returns the condition that a row is this one.
func is(id ovsdb.UUID) ovsdb.Condition { return ovsdb.Is("_uuid", id) }

// transact changes the database if the device still has the QoS that was read.
func (s *Switch) transact(ctx context.Context, h *holder, ops ...ovsdb.Operation) error {
	still := ovsdb.Wait("Port", 0, []string{"qos"}, []ovsdb.Row{{"qos": h.port["qos"]}},
		is(ovsdb.Value[ovsdb.UUID](h.port, "_uuid")))
	_, err := s.DB.Transact(ctx, append([]ovsdb.Operation{still}, ops...)...)
	return err
}

func (step SetQoS) apply(ctx context.Context, s *Switch) error {
	h, err := s.holder(ctx, step.Device)
	if err != nil {
		return err
	}
	row := ovsdb.Row{"type": step.Type, "other_config": ovsdb.MapOf(map[string]string{"max-rate": step.Rate.bits()})}
	switch {
	case h.id == "":
		row["external_ids"] = ovsdb.MapOf(map[string]string{"berth": "qos"})
		return s.transact(ctx, h, ovsdb.Insert("QoS", row, "new"),
			ovsdb.Update("Port", ovsdb.Row{"qos": ovsdb.Named("new")}, ovsdb.Is("name", step.Device)))
	case !ours(h.qos):
		return errForeign
	}
	return s.transact(ctx, h, ovsdb.Update("QoS", row, is(h.id)))
}

func (step SetQueue) apply(ctx context.Context, s *Switch) error {
	h, err := s.holder(ctx, step.Device)
	if err != nil {
		return err
	}
	if !ours(h.qos) {
		return errNoQoS
	}
	row := step.Queue.row()
	id, ok := ovsdb.Pairs[int64, ovsdb.UUID](h.qos, "queues")[int64(step.Number)]
	switch {
	case !ok:
		add := ovsdb.Mutation{
			Column: "queues", Mutator: "insert", Value: ovsdb.MapOf(map[int]ovsdb.Named{step.Number: "new"}),
		}
		return s.transact(ctx, h, ovsdb.Insert("Queue", row, "new"), ovsdb.Mutate("QoS", []ovsdb.Mutation{add}, is(h.id)))
	case !ours(h.queues[id]):
		return errForeign
	}
	return s.transact(ctx, h, ovsdb.Update("Queue", row, is(id)))
}

func (q Queue) row() ovsdb.Row {
	config := make(map[string]string)
	for name, r := range map[string]Kbps{"min-rate": q.Min, "max-rate": q.Max, "burst": q.Burst} {
		if r > 0 {
			config[name] = r.bits()
		}
	}
	return ovsdb.Row{
		"other_config": ovsdb.MapOf(config),
		"external_ids": ovsdb.MapOf(map[string]string{"berth": "queue", "berth-port": q.Owner}),
	}
}

func (step RemoveQueue) apply(ctx context.Context, s *Switch) error {
	h, err := s.holder(ctx, step.Device)
	if err != nil {
		return err
	}
	id, ok := ovsdb.Pairs[int64, ovsdb.UUID](h.qos, "queues")[int64(step.Number)]
	switch {
	case !ok:
		return nil
	case !ours(h.qos) || !ours(h.queues[id]):
		return errForeign
	}
	remove := ovsdb.Mutation{Column: "queues", Mutator: "delete", Value: ovsdb.SetOf(step.Number)}
	return s.transact(ctx, h, ovsdb.Mutate("QoS", []ovsdb.Mutation{remove}, is(h.id)), ovsdb.Delete("Queue", is(id)))
}

func (step RemoveQoS) apply(ctx context.Context, s *Switch) error {
	h, err := s.holder(ctx, step.Device)
	if err != nil {
		return err
	}
	switch {
	case h.id == "":
		return nil
	case !ours(h.qos):
		return errForeign
	}
	ops := []ovsdb.Operation{
		ovsdb.Update("Port", ovsdb.Row{"qos": ovsdb.Set{}}, ovsdb.Is("name", step.Device)),
		ovsdb.Delete("QoS", is(h.id)),
	}
	for _, id := range ovsdb.Pairs[int64, ovsdb.UUID](h.qos, "queues") {
		if ours(h.queues[id]) {
			ops = append(ops, ovsdb.Delete("Queue", is(id)))
		}
	}
	return s.transact(ctx, h, ops...)
}

func (RemoveStrays) apply(ctx context.Context, s *Switch) error {
	r, err := s.read(ctx)
	if err != nil {
		return err
	}
	// Rows that another program has begun to use cannot be deleted: the server keeps rows that are
	// referred to.
	qos, queues := r.unused()
	var ops []ovsdb.Operation
	for _, id := range qos {
		ops = append(ops, ovsdb.Delete("QoS", is(id)))
	}
	for _, id := range queues {
		ops = append(ops, ovsdb.Delete("Queue", is(id)))
	}
	if len(ops) == 0 {
		return nil
	}
	_, err = s.DB.Transact(ctx, ops...)
	return err
}
