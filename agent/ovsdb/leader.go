package ovsdb

import (
	"context"
	"encoding/json"
)

// leaderMonitor is the id of the monitor that watches whether the server is still
// the leader; the other monitor has the database's name.
const leaderMonitor = "_Server"

// watchLeader refuses a server that is not the leader of its cluster, or cannot reach it, and
// closes the connection when the server ceases to be the leader. A standalone server is its own
// leader.
func (c *Client) watchLeader(ctx context.Context, conn *conn) error {
	request := map[string]any{
		"columns": []string{"name", "leader", "connected"},
		"where":   []Condition{Is("name", c.config.Database)},
	}
	text, err := conn.call(ctx, "monitor_cond", "_Server", leaderMonitor, map[string]any{"Database": []any{request}})
	if err != nil {
		return err
	}
	return leads(text)
}

// leadership reads an update of the monitor.
func leadership(params json.RawMessage) error {
	var tables json.RawMessage
	if err := list(params, new(string), &tables); err != nil {
		return &ProtocolError{"an update of _Server", err}
	}
	return leads(tables)
}

// leads returns an error when a row says that the server does not lead.
func leads(tables json.RawMessage) error {
	var updates tableUpdates
	if err := json.Unmarshal(tables, &updates); err != nil {
		return &ProtocolError{"rows of _Server", err}
	}
	for _, u := range updates["Database"] {
		for _, row := range []*Row{u.Initial, u.Insert} {
			if row != nil && !Value[bool](*row, "leader") { // an absent value is false
				return errNotLeader
			}
		}
		if u.Modify != nil && ((*u.Modify)["leader"] == false || (*u.Modify)["connected"] == false) {
			return errNotLeader
		}
	}
	return nil
}
