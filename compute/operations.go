package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/selection"
)

// The kinds of operations.
const (
	boot   = "boot"
	remove = "delete"
	attach = "attach"
	detach = "detach"
	power  = "power"
)

// The steps of operations: the work in progress while the row has the step.
const (
	stepPorts   = "ports"   // boot, attach: ports are created in networks
	stepClaim   = "claim"   // boot, attach: candidates are chosen, noted and claimed
	stepNext    = "next"    // boot: the next host is tried
	stepAgain   = "again"   // boot: a claim is undone, and another choice made
	stepBind    = "bind"    // boot, attach: ports are bound
	stepHost    = "host"    // all: the host does its part
	stepUnbind  = "unbind"  // delete, detach: ports are unbound or removed
	stepRelease = "release" // delete, detach: the allocation is released
	stepUndo    = "undo"    // boot, attach: what was done is taken back
)

// steps has the function that carries out each step of each kind of operation.
var steps = map[string]map[string]func(*job, context.Context) error{
	boot: {
		stepPorts: (*job).scheduleAlone, stepClaim: (*job).scheduleAlone, stepNext: (*job).next, stepAgain: (*job).again,
		stepBind: (*job).bind, stepHost: (*job).built, stepUndo: (*job).undo,
	},
	remove: {stepHost: (*job).destroy, stepUnbind: (*job).freeAllPorts, stepRelease: (*job).release},
	power:  {stepHost: (*job).powered},
	// The request that attaches carries out its own steps (attach.go). A worker finds the operation only when
	// that request has ended without an answer, and so undoes it.
	attach: {
		stepPorts: (*job).drop, stepClaim: (*job).drop, stepBind: (*job).drop, stepHost: (*job).drop,
		stepUndo: (*job).detachAgain, stepRelease: (*job).giveBack,
	},
	detach: {stepHost: (*job).unplugged, stepUnbind: (*job).unbind, stepRelease: (*job).giveBack},
}

// A failedHost is why a host did not build a server: for users, and for administrators.
type failedHost struct {
	Host    string `json:"host"`
	Text    string `json:"text"`
	Details string `json:"details"`
}

// A body is what an operation needs to go on, and to undo. Which of it is used depends
// on the kind. Its names are not to change.
type body struct {
	Action ID `json:"action"`
	Event  ID `json:"event,omitempty"` // the step of the action that is under way
	// Reservation is that of the servers that are created together.
	Reservation string `json:"reservation,omitempty"`

	// Networks are the interfaces of the server, in their order. One without a port gets one.
	Networks []NetworkSpec    `json:"networks,omitempty"`
	Groups   []ID             `json:"groups,omitempty"` // security groups of created ports
	Image    extraspecs.Image `json:"image"`
	Node     ID               `json:"node,omitempty"` // the only one that will do
	Forced   bool             `json:"forced,omitempty"`

	// Claim is what was chosen, Rest what else the server could have.
	Claim *selection.Claim  `json:"claim,omitempty"`
	Rest  []selection.Claim `json:"rest,omitempty"`
	Tried int               `json:"tried,omitempty"` // hosts
	// Causes are why the hosts that were tried did not build it.
	Causes []failedHost `json:"causes,omitempty"`
	// Devices are the PCI devices of ports, by port.
	Devices map[ID]Device `json:"devices,omitempty"`
	// Port is the one that is attached or detached, Own whether it goes with the
	// server.
	Port ID   `json:"port,omitempty"`
	Own  bool `json:"own,omitempty"`
	// Place is its position among the server's ports.
	Place int `json:"place,omitempty"`
	// Amounts are the difference that the port makes, Attempt its last write.
	Amounts allocations.Amounts  `json:"amounts,omitempty"`
	Attempt *allocations.Attempt `json:"attempt,omitempty"`
	Done    bool                 `json:"done,omitempty"` // the write took place
	// Making says that a port is created to be attached. Others are ports with the server's id that
	// existed before and are not its own.
	Making bool `json:"making,omitempty"`
	Others []ID `json:"others,omitempty"`
	// Bound says that the port being attached was bound, so that whoever deletes it releases its
	// allocation. A port being detached always was.
	Bound bool `json:"bound,omitempty"`
	// Unsure, unless nil, is a request to bind or to unbind the port that was not answered.
	Unsure *unsure `json:"unsure,omitempty"`

	// Verb is what is done to the power: "start", "stop", "reboot".
	Verb string `json:"verb,omitempty"`
	// Failure is why an attachment is undone.
	Failure *Failure `json:"failure,omitempty"`

	// Next are the operations that wait for this one. Others add to them: what is stored counts.
	Next []queued `json:"next,omitempty"`
}

// A queued is an operation that begins when the one under way ends.
type queued struct {
	Kind string          `json:"kind"`
	Step string          `json:"step"`
	Body json.RawMessage `json:"body"`
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

// newOperation begins an operation of a server, without a lease, or queues it behind the current
// one. It is a conflict when too many wait already.
func (c *change) newOperation(server ID, kind, step string, b body) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := c.canWork(); err != nil {
		return err
	}
	under, err := Rows[OperationRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	if len(under) == 0 {
		return c.Insert(&OperationRow{ID: newID(), Server: server, Kind: kind, Step: step, Body: text, CreatedAt: c.at})
	}
	first, err := under[0].body()
	if err == nil && len(first.Next) >= maxQueued {
		err = busy(server, kind, "task_state", "")
	}
	if err != nil {
		return err
	}
	first.Next = append(first.Next, queued{kind, step, text})
	if under[0].Body, err = json.Marshal(first); err != nil {
		return err
	}
	return c.Replace(&under[0])
}

// beginNext begins the first of the operations that waited for one that has ended. A port that was
// removed from its server in the meantime is not detached again: as in Nova, the event says so.
func (c *change) beginNext(server ID, next []queued) error {
	for i, q := range next {
		var b body
		if err := json.Unmarshal(q.Body, &b); err != nil {
			return fmt.Errorf("reading an operation that waits, of server %s: %w", server, err)
		}
		if q.Kind == detach {
			rows, err := Rows[PortRow](c, Where(ByPort, b.Port), Where(ByServer, server))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				text := fmt.Sprintf("Port %s is not attached", b.Port)
				if err := c.end(b.Event, &stepError{text: text, details: text}); err != nil {
					return err
				}
				continue
			}
		}
		b.Next = next[i+1:]
		return c.newOperation(server, q.Kind, q.Step, b)
	}
	return nil
}

// idleServer refuses an action while an operation of the server is in progress. An attachment or a
// detachment does not count, as in Nova, where it sets no task_state: an action that arrives then
// waits for its end.
func idleServer(r Reader, row ServerRow, action string) error {
	if row.Task != "" {
		return busy(row.ID, action, "task_state", row.Task)
	}
	under, err := Rows[OperationRow](r, Where(ByServer, row.ID))
	if err == nil && len(under) > 0 && under[0].Kind != attach && under[0].Kind != detach {
		err = busy(row.ID, action, "task_state", "")
	}
	return err
}

// An unsure is a request to the network service that may have taken place: it is noted before it is
// sent.
type unsure struct {
	At time.Time `json:"at"`
	// Revision is what the port has to have for it to take place, -1 for any.
	Revision int64 `json:"revision"`
	// Held is the part of the server's allocation that is on the port's providers.
	Held allocations.Amounts `json:"held,omitempty"`
}
