package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/compute/operation"
	"github.com/berthcloud/berth/compute/selection"
)

// The kinds of operations.
const (
	boot     = "boot"
	remove   = "delete"
	attach   = "attach"
	detach   = "detach"
	power    = "power"
	rebuild  = "rebuild"
	shelve   = "shelve"
	unshelve = "unshelve"
	move     = "move" // a resize or a cold migration
	live     = "live" // a live migration
	evacuate = "evacuate"
	clean    = "clean" // what an evacuated server has on its former host is released
	// A move ends with one of these.
	confirm = "confirm"
	revert  = "revert"
)

// The steps of operations.
const (
	stepPorts  = "ports"  // ports are created in networks
	stepClaim  = "claim"  // a candidate is chosen, noted and claimed
	stepSource = "source" // the host that the server leaves does its part
	stepBind   = "bind"   // ports are bound to the host
	stepHost   = "host"   // the host does its part

	stepPrepare  = "prepare"  // the destination builds the server, which does not run there yet
	stepActivate = "activate" // the ports change to the destination
	stepLeave    = "leave"    // the former host destroys the server
	stepRelease  = "release"  // what was allocated there is released
)

// An effect is what a step changes in the database: rows, and the server that the operation is of, which is
// stored after it. It may run more than once.
type effect = func(*change, *ServerRow) error

type (
	next = operation.Next[effect]
	step = operation.Step[*job, effect]
	list = operation.List[*job, effect]
)

// A kind of operation is a list of steps, and what others need to know about it.
type kind struct {
	list
	// back says that it begins at the end of its list: it undoes what another kind does.
	back bool
	// quiet says that it sets no task_state, as in Nova: what is asked of the server meanwhile waits for its end.
	quiet bool
	// final says that nothing follows it. Any other kind becomes the deletion of its server when that is requested.
	final bool
	// asks, unless nil, is what its first step asks the host for. The host is asked already when the
	// operation begins.
	asks func(*change, ServerRow, *body) error
	// limit, unless nil, is the age of a server up to which its host may take its time; 0 means any.
	limit func(Settings) time.Duration
	// refused, unless nil, is the effect that ends the operation when the host cannot undo its part. Without
	// it the host is waited for, which tries again by itself.
	refused func(*job, EventRow) effect
	// moot, unless nil, ends an operation that has waited for another one and has nothing left to do.
	moot func(c *change, server ID, b body) (bool, error)
}

// kinds are the kinds of operations by their names.
type kinds map[string]kind

// newKinds returns the operations.
func newKinds() kinds {
	server := []step{
		{Name: stepPorts, Together: schedule, Undo: (*job).removePorts},
		{Name: stepClaim, Together: schedule, Undo: (*job).unclaim},
		{Name: stepBind, Do: (*job).bind, Undo: (*job).unbindAll},
		{Name: stepHost, Do: (*job).build, Undo: (*job).destroy},
	}
	port := []step{
		{Name: stepPorts, Do: (*job).attachPort, Undo: (*job).removePort},
		{Name: stepClaim, Do: (*job).attachClaim, Undo: (*job).release},
		{Name: stepBind, Do: (*job).attachBind, Undo: (*job).unbind},
		{Name: stepHost, Do: (*job).plug, Undo: (*job).unplug},
	}
	moves := []step{
		{Name: stepClaim, Do: (*job).moveTo, Undo: (*job).takeBackSource},
		{Name: stepSource, Do: (*job).leaveSource, Undo: (*job).returnToSource},
		{Name: stepBind, Do: (*job).bindToHost, Undo: (*job).bindToSource},
		{Name: stepHost, Do: (*job).buildAtDestination, Undo: (*job).leaveDestination},
	}
	confirmation := []step{
		{Name: stepLeave, Do: (*job).destroyAtSource},
		{Name: stepRelease, Do: (*job).releaseSource},
	}
	liveMove := []step{
		{Name: stepClaim, Do: (*job).moveTo, Undo: (*job).takeBackSource},
		{Name: stepBind, Do: (*job).bindSecond, Undo: (*job).unbindSecond},
		{Name: stepPrepare, Do: (*job).prepareDestination, Undo: (*job).destroyAtDestination},
		{Name: stepSource, Do: (*job).stopAtSource, Undo: (*job).returnToSource},
		{Name: stepActivate, Do: (*job).activate, Undo: (*job).activateSource},
		{Name: stepHost, Do: (*job).runAtDestination},
		{Name: stepLeave, Do: (*job).leaveBehind},
		{Name: stepRelease, Do: (*job).releaseSource},
	}
	evacuation := []step{
		{Name: stepClaim, Do: (*job).moveTo, Undo: (*job).takeBackSource},
		{Name: stepSource, Do: (*job).keepFromSource, Undo: (*job).leaveToSource},
		{Name: stepBind, Do: (*job).bindSecond, Undo: (*job).unbindSecond},
		{Name: stepPrepare, Do: (*job).rebuildAtDestination, Undo: (*job).destroyAtDestination},
		{Name: stepActivate, Do: (*job).activate, Undo: (*job).activateSource},
		{Name: stepHost, Do: (*job).runEvacuated},
		{Name: stepLeave, Do: (*job).unbindSource},
	}
	places := []step{
		{Name: stepClaim, Do: (*job).claimAgain, Undo: (*job).unclaim},
		{Name: stepBind, Do: (*job).bindToHost, Undo: (*job).unbindFromHost},
		{Name: stepHost, Do: (*job).buildAgain, Undo: (*job).destroy},
	}
	return kinds{
		boot: {
			list:  list{Steps: server, Done: (*job).built, Undone: (*job).ended},
			limit: func(s Settings) time.Duration { return s.BuildTime },
		},
		remove:   {list: list{Steps: server, Undone: (*job).removed}, back: true, final: true, refused: (*job).notDestroyed},
		attach:   {list: list{Steps: port, Done: (*job).ended, Undone: (*job).ended, Once: (*job).notAttached}, quiet: true},
		detach:   {list: list{Steps: port, Undone: (*job).ended}, back: true, quiet: true, asks: askUnplug, refused: (*job).notUnplugged, moot: detached},
		power:    {list: list{Steps: []step{{Name: stepHost, Do: (*job).changePower}}}, asks: askPower},
		rebuild:  {list: list{Steps: []step{{Name: stepHost, Do: (*job).rebuildOnHost}}}, asks: askRebuild},
		unshelve: {list: list{Steps: places, Done: (*job).unshelved, Undone: (*job).shelved}},
		shelve:   {list: list{Steps: places, Undone: (*job).shelved}, back: true, refused: (*job).notShelved},

		move:     {list: list{Steps: moves, Undone: (*job).movedBack}},
		revert:   {list: list{Steps: moves, Undone: (*job).movedBack}, back: true},
		live:     {list: list{Steps: liveMove, Done: (*job).movedLive, Undone: (*job).movedBack}},
		evacuate: {list: list{Steps: evacuation, Done: (*job).evacuated, Undone: (*job).movedBack}},
		clean:    {list: list{Steps: []step{{Name: stepRelease, Do: (*job).releaseSource}}, Done: (*job).sourceCleaned}, quiet: true},
		confirm:  {list: list{Steps: confirmation, Done: (*job).moveConfirmed}},
	}
}

// first is the cursor that an operation begins with.
func (k kind) first() operation.Cursor {
	if k.back {
		return k.Last()
	}
	return operation.Cursor{Step: k.Steps[0].Name}
}

// shared reports whether operations of a reservation carry out a step together.
func (k kind) shared(at operation.Cursor) bool {
	s, ok := k.At(at)
	return ok && s.Together != nil && !at.Back
}

// ended ends the event of an operation, if it has not ended with an error.
func (j *job) ended() effect {
	return func(c *change, _ *ServerRow) error {
		if j.b.Event == "" {
			return nil
		}
		return c.end(j.b.Event, nil)
	}
}

// A failedHost is why a host did not build a server: for users, and for administrators.
type failedHost struct {
	Host    string `json:"host"`
	Text    string `json:"text"`
	Details string `json:"details"`
}

// A waitCause is the error of a service that is waited for: for users, and for administrators.
type waitCause struct {
	Text    string `json:"text"`
	Details string `json:"details"`
}

// noteUnavailable stores in the body of an operation why it cannot go on.
func (o *OperationRow) noteUnavailable(cause error) error {
	b, err := o.body()
	if err != nil {
		return err
	}
	b.Unavailable = &waitCause{forUser(cause), fmt.Sprintf("%.*s", maxCause, cause)}
	o.Body, err = json.Marshal(b)
	return err
}

// waitedTooLong returns the failure of a server that another service has been unavailable to for longer than its build may take, a
// reason to try again when it may take longer, and nil when nothing was waited for.
func (j *job) waitedTooLong(ctx context.Context) (*Failure, error) {
	if j.b.Unavailable == nil {
		return nil, nil
	}
	server, err := j.server(ctx)
	if err != nil || j.s.kinds.overdue(j.s.rules, server, j.op) == 0 {
		return nil, err
	}
	return aborted(j.b.Unavailable.Text, errors.New(j.b.Unavailable.Details)), nil
}

// A body is what an operation needs to go on, and to undo. Which of it is used depends
// on the kind. Its names are not to change.
type body struct {
	Action ID `json:"action"`
	Event  ID `json:"event,omitempty"` // the step of the action that is under way
	// By is who requested it, in whose request's name other services are asked: the zero value for what the service does by itself.
	By Caller `json:"by,omitzero"`
	// Asked is the event that the host was asked to end, in the current direction.
	Asked ID `json:"asked,omitempty"`
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
	// Anew says that a new choice is made instead of taking the next of Rest.
	Anew bool `json:"anew,omitempty"`
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
	// Settled says that it is known what was claimed for the port.
	Settled bool `json:"settled,omitempty"`
	// Making says that a port is created to be attached. Others are ports with the server's id that
	// existed before and are not its own.
	Making bool `json:"making,omitempty"`
	Others []ID `json:"others,omitempty"`
	// Bound says that the port was bound, so that whoever deletes it releases its allocation.
	Bound bool `json:"bound,omitempty"`
	// Unsure, unless nil, is a request to bind or to unbind the port that was not answered.
	Unsure *unsure `json:"unsure,omitempty"`

	// Migration is the move that is under way, Flavor what the server gets with it, as in ServerRow.
	Migration ID              `json:"migration,omitempty"`
	Flavor    json.RawMessage `json:"flavor,omitempty"`
	Host      string          `json:"host,omitempty"` // the destination that was asked for
	FlavorID  ID              `json:"flavor_id,omitempty"`
	// Exchange and Return are the last writes that gave its allocations to the migration, and back.
	Exchange *allocations.Attempt `json:"exchange,omitempty"`
	Return   *allocations.Attempt `json:"return,omitempty"`
	// There are the server's ports as they are bound to the destination of a live migration, Abort says that it is
	// to be undone, which others write.
	There map[ID]Port `json:"there,omitempty"`
	Abort bool        `json:"abort,omitempty"`
	// Trouble is why the server is in error once the move is undone, nil if it is not.
	Trouble *Failure `json:"trouble,omitempty"`

	// Unavailable, unless nil, is why the operation could not go on when it was released last: another service was unavailable.
	Unavailable *waitCause `json:"unavailable,omitempty"`

	// Verb is what is done to the power: "start", "stop", "reboot".
	Verb string `json:"verb,omitempty"`

	// Next are the operations that wait for this one. Others add to them: what is stored counts.
	Next []queued `json:"next,omitempty"`
}

// body reads the body of an operation.
func (o OperationRow) body() (b body, err error) {
	if err = json.Unmarshal(o.Body, &b); err != nil {
		err = fmt.Errorf("reading operation %s: %w", o.ID, err)
	}
	return b, err
}

// ClaimHost is the host of the operation's claim, "" while it has none.
func (o *OperationRow) ClaimHost() string {
	b, err := o.body()
	if err != nil || b.Claim == nil {
		return ""
	}
	return b.Claim.Host
}

// ChosenDevices are the PCI devices that were chosen for ports, by port, as the JSON object in the body; "" for none.
func (o *OperationRow) ChosenDevices() string {
	b, err := o.body()
	if err != nil || len(b.Devices) == 0 {
		return ""
	}
	text, err := json.Marshal(b.Devices)
	if err != nil {
		panic("compute: " + err.Error()) // texts only
	}
	return string(text)
}

// cursor is how far an operation is.
func (o OperationRow) cursor() operation.Cursor {
	return operation.Cursor{Step: o.Step, Back: o.Back, Until: o.Until}
}

// moveTo moves it.
func (o *OperationRow) moveTo(at operation.Cursor) {
	o.Step, o.Back, o.Until = at.Step, at.Back, at.Until
}

// A queued is an operation that begins when the one under way ends.
type queued struct {
	Kind string          `json:"kind"`
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
// one, for the caller whose action was noted in this transaction. It is a conflict when too many wait already.
func (c *change) newOperation(server ID, kind string, b body) error {
	if c.unable != nil {
		return c.unable
	}
	if b.By == (Caller{}) { // else it waited
		b.By = c.by
	}
	under, err := Rows[OperationRow](c, Where(ByServer, server))
	if err != nil {
		return err
	}
	if asks := c.kinds[kind].asks; len(under) == 0 && asks != nil {
		row, err := One[ServerRow](c, Where(ByID, server))
		if err != nil {
			return err
		}
		if err := asks(c, row, &b); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if len(under) == 0 {
		row := OperationRow{ID: NewID(), Server: server, Kind: kind, Body: text, Awaits: b.Asked, Reservation: b.Reservation, CreatedAt: c.At}
		row.moveTo(c.kinds[kind].first())
		return c.Insert(&row)
	}
	first, err := under[0].body()
	if err == nil && len(first.Next) >= maxQueued {
		err = busy(server, kind, "task_state", "")
	}
	if err != nil {
		return err
	}
	first.Next = append(first.Next, queued{kind, text})
	if under[0].Body, err = json.Marshal(first); err != nil {
		return err
	}
	return c.Replace(&under[0])
}

// beginNext begins the first of the operations that waited for one that has ended.
func (c *change) beginNext(server ID, next []queued) error {
	for i, q := range next {
		var b body
		if err := json.Unmarshal(q.Body, &b); err != nil {
			return fmt.Errorf("reading an operation that waits, of server %s: %w", server, err)
		}
		if moot := c.kinds[q.Kind].moot; moot != nil {
			is, err := moot(c, server, b)
			if err != nil {
				return err
			}
			if is {
				continue
			}
		}
		b.Next = next[i+1:]
		return c.newOperation(server, q.Kind, b)
	}
	return nil
}

// idle refuses an action while an operation of the server is in progress. A quiet one does not
// count: the action then waits for its end.
func (k kinds) idle(r Reader, row ServerRow, action string) error {
	if row.Task != "" {
		return busy(row.ID, action, "task_state", row.Task)
	}
	under, err := Rows[OperationRow](r, Where(ByServer, row.ID))
	if err == nil && len(under) > 0 && !k[under[0].Kind].quiet {
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

// An unsure is a request to the network service that may have taken place: it is noted before it is
// sent.
type unsure struct {
	At time.Time `json:"at"`
	// Revision is what the port has to have for it to take place, -1 for any.
	Revision int64 `json:"revision"`
	// Held is the part of the server's allocation that is on the port's providers.
	Held allocations.Amounts `json:"held,omitempty"`
}
