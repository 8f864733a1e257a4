package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/operation"
)

// data reads what an operation stores, according to its kind.
func (k kinds) data(row compute.OperationRow) (operationData, error) {
	kind, ok := k[row.Kind]
	if !ok {
		return nil, fmt.Errorf("reading operation %s: the kind %q is unknown", row.ID, row.Kind)
	}
	return kind.read(row)
}

// cursorOf is how far an operation is.
func cursorOf(o compute.OperationRow) operation.Cursor {
	return operation.Cursor{Step: o.Step, Back: o.Back, UndoTo: o.UndoTo}
}

// moveTo moves it.
func moveTo(o *compute.OperationRow, at operation.Cursor) {
	o.Step, o.Back, o.UndoTo = at.Step, at.Back, at.UndoTo
}

// A queued is an operation that begins when the one under way ends.
type queued struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// queueOf are the operations that wait for one, in their order.
func queueOf(o compute.OperationRow) (all []queued, err error) {
	if len(o.Queue) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(o.Queue, &all); err != nil {
		err = fmt.Errorf("reading the operations that wait for %s: %w", o.ID, err)
	}
	return all, err
}

// setQueue stores them.
func setQueue(o *compute.OperationRow, all []queued) (err error) {
	if o.Queue = nil; len(all) > 0 {
		o.Queue, err = json.Marshal(all)
	}
	return err
}

// maxQueued bounds the operations that wait for one of the same server.
const maxQueued = 64

// CanWork returns an error when there is no service to carry operations out with.
func (s *Service) CanWork() error {
	switch {
	case s.placement == nil:
		return compute.NotConfigured("placement")
	case s.network == nil:
		return compute.NotConfigured("network")
	}
	return nil
}

// NewOperation begins an operation of a server, without a lease, or queues it after the current
// one, for the caller whose action was recorded in this transaction. It is a conflict when too many
// wait already.
func (c *Change) NewOperation(server compute.ID, kind string, d operationData) error {
	if c.unable != nil {
		return c.unable
	}
	d.shared().By = c.By
	rows, err := compute.Rows[compute.OperationRow](c, compute.Where(compute.ByServer, server))
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return c.beginOperation(server, kind, d, nil)
	}
	row := rows[0]
	waiting, err := queueOf(row)
	if err == nil && len(waiting) >= maxQueued {
		err = compute.Busy(server, kind, "task_state", "")
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := setQueue(&row, append(waiting, queued{kind, text})); err != nil {
		return err
	}
	return c.Replace(&row)
}

// beginOperation begins an operation of a server that has none, for which others wait. Its command
// to the host is sent with it: the host need not wait for a worker.
func (c *Change) beginOperation(server compute.ID, kind string, d operationData, waiting []queued) (err error) {
	k := c.kinds[kind]
	if k.command != nil {
		row, err := compute.One[compute.ServerRow](c, compute.Where(compute.ByID, server))
		if err != nil {
			return err
		}
		if err := k.command(c, row, d); err != nil {
			return err
		}
	}
	row := compute.OperationRow{
		ID: compute.NewID(), Server: server, Kind: kind, Awaits: d.shared().Awaited, Reservation: d.shared().Reservation,
		CreatedAt: c.At,
	}
	moveTo(&row, k.first())
	if row.Body, err = json.Marshal(d); err != nil {
		return err
	}
	if err := setQueue(&row, waiting); err != nil {
		return err
	}
	return c.Insert(&row)
}

// beginNext begins the first of the operations that waited for one that has ended.
func (c *Change) beginNext(ended compute.OperationRow) error {
	waiting, err := queueOf(ended)
	if err != nil {
		return err
	}
	for i, q := range waiting {
		d, err := c.kinds.data(compute.OperationRow{ID: ended.ID, Kind: q.Kind, Body: q.Body})
		if err != nil {
			return err
		}
		if obsolete := c.kinds[q.Kind].obsolete; obsolete != nil {
			over, err := obsolete(c, ended.Server, d)
			if err != nil {
				return err
			}
			if over {
				continue
			}
		}
		return c.beginOperation(ended.Server, q.Kind, d, waiting[i+1:])
	}
	return nil
}

// idle refuses an action while an operation of the server is in progress. A concurrent one does not
// count: the action then waits for its end.
func (k kinds) idle(r compute.Reader, row compute.ServerRow, action string) error {
	if row.Task != "" {
		return compute.Busy(row.ID, action, "task_state", row.Task)
	}
	under, err := compute.Rows[compute.OperationRow](r, compute.Where(compute.ByServer, row.ID))
	if err == nil && len(under) > 0 && !k[under[0].Kind].concurrent {
		err = compute.Busy(row.ID, action, "task_state", "")
	}
	return err
}

// Operations returns the number of operations, and the age of the oldest.
func (s *Service) Operations(ctx context.Context) (count int, oldest time.Duration, err error) {
	err = s.store.View(ctx, func(r compute.Reader) error {
		rows, err := compute.Rows[compute.OperationSummary](r)
		count, oldest = len(rows), 0
		for _, row := range rows {
			oldest = max(oldest, s.rules.Now().Sub(row.CreatedAt))
		}
		return err
	})
	return count, oldest, err
}

// A deletion, and its event, as Nova calls them.
const (
	DeleteAction = "delete"
	EventDelete  = "compute_terminate_instance"
)
