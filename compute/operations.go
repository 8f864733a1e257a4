package compute

import (
	"encoding/json"
	"time"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/network/guarantee"
)

// The kinds of operations.
const (
	boot   = "boot"
	remove = "delete"
	attach = "attach"
	detach = "detach"
	power  = "power"
)

// The steps of operations: what is under way while the row says so.
const (
	stepPorts   = "ports"   // boot, attach: ports of networks are made
	stepClaim   = "claim"   // boot, attach: candidates are chosen, noted and claimed
	stepNext    = "next"    // boot: the next host is tried
	stepAgain   = "again"   // boot: what was done for a claim is taken back, and another one made
	stepBind    = "bind"    // boot, attach: ports are bound
	stepHost    = "host"    // all: the host does what is wanted of it
	stepUnbind  = "unbind"  // delete, detach: ports are unbound or removed
	stepRelease = "release" // delete, detach: what was held is given back
	stepUndo    = "undo"    // boot, attach: what was done is taken back
)

// A body is what an operation needs to go on, and to undo. Which of it is used depends
// on the kind. Its names are not to change.
type body struct {
	Action ID `json:"action"`
	Event  ID `json:"event,omitempty"` // the step of the action that is under way
	// Reservation is that of the servers that are created together.
	Reservation string `json:"reservation,omitempty"`

	// Networks are the interfaces that a server is to have, in their order. One
	// without a port gets one.
	Networks []NetworkSpec    `json:"networks,omitempty"`
	Groups   []ID             `json:"groups,omitempty"` // security groups of ports that are made
	Image    extraspecs.Image `json:"image"`
	Node     ID               `json:"node,omitempty"` // the only one that will do
	Forced   bool             `json:"forced,omitempty"`

	// Claim is what was chosen, Rest what else the server could have.
	Claim *selection.Claim  `json:"claim,omitempty"`
	Rest  []selection.Claim `json:"rest,omitempty"`
	Tried int               `json:"tried,omitempty"` // hosts
	// Devices are the PCI devices that ports are to be, by port.
	Devices map[ID]Device `json:"devices,omitempty"`
	// Port is the one that is attached or detached, Own whether it goes with the
	// server.
	Port ID   `json:"port,omitempty"`
	Own  bool `json:"own,omitempty"`
	// Place is where it comes among the server's.
	Place int `json:"place,omitempty"`
	// Amounts are the difference that the port makes, Attempt its last write.
	Amounts guarantee.Amounts `json:"amounts,omitempty"`
	Attempt *attempt          `json:"attempt,omitempty"`
	Done    bool              `json:"done,omitempty"` // the write took place
	// Making says that a port is made to be attached. Others are ports that named the server before
	// and are not its.
	Making bool `json:"making,omitempty"`
	Others []ID `json:"others,omitempty"`
	// Bound says that the port that is attached was bound, so that who removes it gives back
	// what it holds. One that is detached always was.
	Bound bool `json:"bound,omitempty"`
	// Unsure, unless nil, is a request to bind or to unbind the port of which no answer came.
	Unsure *unsure `json:"unsure,omitempty"`

	// Verb is what is done to the power: "start", "stop", "reboot".
	Verb string `json:"verb,omitempty"`
	// Failure is why an attachment is undone.
	Failure *Failure `json:"failure,omitempty"`
}

// newOperation begins an operation of a server, which is nobody's yet. It is a
// conflict when there is one already.
func (c *change) newOperation(server ID, kind, step string, b body) error {
	row := OperationRow{ID: newID(), Server: server, Kind: kind, Step: step, CreatedAt: c.at}
	var err error
	if row.Body, err = json.Marshal(b); err != nil {
		return err
	}
	return c.Insert(&row)
}

// idleServer refuses an action while something is under way with a server.
func idleServer(r Reader, row ServerRow, action string) error {
	if row.Task != "" {
		return busy(row.ID, action, "task_state", row.Task)
	}
	under, err := Rows[OperationRow](r, Where(ByServer, row.ID))
	if err == nil && len(under) > 0 {
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
	// Held is what the server holds of what the port holds.
	Held guarantee.Amounts `json:"held,omitempty"`
}

// An attempt is one write of what a server holds: see package network, decision 24.
type attempt struct {
	Generation int64             `json:"generation"`
	Before     guarantee.Amounts `json:"before"` // of what is to change
}
