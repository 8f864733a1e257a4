package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/compute/operation"
)

// data reads what an operation stores, according to its kind.
func (k kinds) data(row OperationRow) (operationData, error) {
	kind, ok := k[row.Kind]
	if !ok {
		return nil, fmt.Errorf("reading operation %s: the kind %q is unknown", row.ID, row.Kind)
	}
	return kind.read(row)
}

// claimed is what ClaimHost and ChosenDevices read of any operation: it is in columns of its own,
// by which it is searched for.
func (o *OperationRow) claimed() (c hostClaim) {
	if json.Unmarshal(o.Body, &c) != nil {
		return hostClaim{}
	}
	return c
}

// ClaimHost is the host of the operation's claim, "" while it has none.
func (o *OperationRow) ClaimHost() string {
	if c := o.claimed(); c.Claim != nil {
		return c.Claim.Host
	}
	return ""
}

// ChosenDevices are the PCI devices that were chosen for ports, by port, as the JSON object in the
// body; "" for none.
func (o *OperationRow) ChosenDevices() string {
	c := o.claimed()
	if len(c.Devices) == 0 {
		return ""
	}
	text, err := json.Marshal(c.Devices)
	if err != nil {
		panic("compute: " + err.Error()) // texts only
	}
	return string(text)
}

// cursor is how far an operation is.
func (o OperationRow) cursor() operation.Cursor {
	return operation.Cursor{Step: o.Step, Back: o.Back, UndoTo: o.UndoTo}
}

// moveTo moves it.
func (o *OperationRow) moveTo(at operation.Cursor) {
	o.Step, o.Back, o.UndoTo = at.Step, at.Back, at.UndoTo
}

// A queued is an operation that begins when the one under way ends.
type queued struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// queue are the operations that wait for one, in their order.
func (o OperationRow) queue() (all []queued, err error) {
	if len(o.Queue) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(o.Queue, &all); err != nil {
		err = fmt.Errorf("reading the operations that wait for %s: %w", o.ID, err)
	}
	return all, err
}

// setQueue stores them.
func (o *OperationRow) setQueue(all []queued) (err error) {
	if o.Queue = nil; len(all) > 0 {
		o.Queue, err = json.Marshal(all)
	}
	return err
}

// maxQueued bounds the operations that wait for one of the same server.
const maxQueued = 64

// canWork returns an error when there is no service to carry operations out with.
func (s *Service) canWork() error {
	switch {
	case s.placement == nil:
		return absent("placement")
	case s.network == nil:
		return absent("network")
	}
	return nil
}

// newOperation begins an operation of a server, without a lease, or queues it after the current
// one, for the caller whose action was recorded in this transaction. It is a conflict when too many
// wait already.
func (c *change) newOperation(server ID, kind string, d operationData) error {
	if c.unable != nil {
		return c.unable
	}
	d.shared().By = c.by
	rows, err := Rows[OperationRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return c.beginOperation(server, kind, d, nil)
	}
	row := rows[0]
	waiting, err := row.queue()
	if err == nil && len(waiting) >= maxQueued {
		err = busy(server, kind, "task_state", "")
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := row.setQueue(append(waiting, queued{kind, text})); err != nil {
		return err
	}
	return c.Replace(&row)
}

// beginOperation begins an operation of a server that has none, for which others wait. Its command
// to the host is sent with it: the host need not wait for a worker.
func (c *change) beginOperation(server ID, kind string, d operationData, waiting []queued) (err error) {
	k := c.kinds[kind]
	if k.command != nil {
		row, err := One[ServerRow](c, Where(ByID, server))
		if err != nil {
			return err
		}
		if err := k.command(c, row, d); err != nil {
			return err
		}
	}
	row := OperationRow{
		ID: NewID(), Server: server, Kind: kind, Awaits: d.shared().Awaited, Reservation: d.shared().Reservation, CreatedAt: c.At,
	}
	row.moveTo(k.first())
	if row.Body, err = json.Marshal(d); err != nil {
		return err
	}
	if err := row.setQueue(waiting); err != nil {
		return err
	}
	return c.Insert(&row)
}

// beginNext begins the first of the operations that waited for one that has ended.
func (c *change) beginNext(ended OperationRow) error {
	waiting, err := ended.queue()
	if err != nil {
		return err
	}
	for i, q := range waiting {
		d, err := c.kinds.data(OperationRow{ID: ended.ID, Kind: q.Kind, Body: q.Body})
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
func (k kinds) idle(r Reader, row ServerRow, action string) error {
	if row.Task != "" {
		return busy(row.ID, action, "task_state", row.Task)
	}
	under, err := Rows[OperationRow](r, Where(ByServer, row.ID))
	if err == nil && len(under) > 0 && !k[under[0].Kind].concurrent {
		err = busy(row.ID, action, "task_state", "")
	}
	return err
}

// Operations returns the number of operations, and the age of the oldest.
func (s *Service) Operations(ctx context.Context) (count int, oldest time.Duration, err error) {
	err = s.store.View(ctx, func(r Reader) error {
		rows, err := Rows[OperationSummary](r)
		count, oldest = len(rows), 0
		for _, row := range rows {
			oldest = max(oldest, s.rules.Now().Sub(row.CreatedAt))
		}
		return err
	})
	return count, oldest, err
}
