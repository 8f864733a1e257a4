package compute

import "cmp"

// EndEvents ends the events of an action that have not ended.
func (tx *Tx) EndEvents(action ID, t *StepError) error {
	events, err := Rows[EventRow](tx, Where(ByAction, action))
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := tx.EndEvent(e.ID, t); err != nil { // one that has ended stays as it is
			return err
		}
	}
	return nil
}

// RecordAction notes that something is done to a server, and returns the action.
func (tx *Tx) RecordAction(by Caller, server ID, action string) (ActionRow, error) {
	have, err := Rows[ActionRow](tx, Where(ByServer, server))
	if err != nil {
		return ActionRow{}, err
	}
	place := 0
	for _, a := range have { // those before them may have been removed
		place = max(place, a.Sequence+1)
	}
	row := ActionRow{
		ID: NewID(), Server: server, Sequence: place, Action: action, Request: cmp.Or(by.Request, "req-"+string(NewID())),
		Project: by.Project, User: by.User, StartedAt: tx.At, UpdatedAt: tx.At,
	}
	tx.By = Caller{Project: by.Project, User: by.User, Request: row.Request, Global: by.Global}
	return row, tx.Insert(&row)
}

// StartEvent notes that a step of an action begins.
func (tx *Tx) StartEvent(action ID, event, host string) (EventRow, error) {
	have, err := Rows[EventRow](tx, Where(ByAction, action))
	row := EventRow{ID: NewID(), Action: action, Sequence: len(have), Event: event, Host: host, StartedAt: tx.At}
	if err != nil {
		return row, err
	}
	return row, tx.Insert(&row)
}

// The results of events, and the message of actions that failed.
const (
	EventSucceeded = "Success"
	EventFailed    = "Error"
)

// A StepError is the error of a failed event.
type StepError struct {
	Text    string // for everybody
	Details string // for administrators
}

// EndEvent stores the result of an event; nil says that it succeeded. An event that has ended is
// unchanged.
func (tx *Tx) EndEvent(event ID, t *StepError) error {
	row, err := One[EventRow](tx, Where(ByID, event))
	if err != nil || !row.FinishedAt.IsZero() {
		return err
	}
	row.FinishedAt, row.Result = tx.At, EventSucceeded
	if t != nil {
		row.Result, row.Details, row.Traceback = EventFailed, t.Text, t.Details
	}
	if err := tx.Replace(&row); err != nil {
		return err
	}
	action, err := One[ActionRow](tx, Where(ByID, row.Action))
	if err != nil {
		return err
	}
	action.UpdatedAt = tx.At
	if t != nil {
		action.Message = EventFailed
	}
	return tx.Replace(&action)
}
