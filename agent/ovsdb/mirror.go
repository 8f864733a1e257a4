package ovsdb

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"sync"
)

// A Change is the change of a row: Old is nil when it was inserted, New is nil when it was deleted.
// Columns whose value is the default of their type may be absent. The caller must not modify rows.
type Change struct {
	Table    string
	UUID     UUID
	Old, New Row
}

// A Delta is what has changed since the one before.
type Delta struct {
	// Synced says that the client has connected, maybe again, and lists every row: those that have
	// not changed have the same Old and New.
	Synced  bool
	Changes []Change // each row once, in no order
}

// ref names a row of the database.
type ref struct {
	table string
	uuid  UUID
}

// A mirror has the rows of the watched tables. A row that has changed since the last call of Next
// is listed once, however often it changed: a slow reader costs no more memory than that.
type mirror struct {
	// locked before mu, from the request for the rows until they are applied, so that no change
	// overtakes them
	order sync.Mutex

	mu      sync.Mutex
	schema  map[string]map[string]bool // by table and column: whether it may have several values
	rows    map[ref]Row
	before  map[ref]Row // of rows that changed since the last call: their former values
	synced  bool        // since
	last    string      // transaction of the rows; "" when unknown
	changed chan struct{}
}

func newMirror() *mirror {
	return &mirror{rows: make(map[ref]Row), before: make(map[ref]Row), changed: make(chan struct{}, 1)}
}

// The wire's form of changes: RFC 7047 has others, these are of ovsdb-server(7).
type (
	tableUpdates map[string]map[UUID]rowUpdate
	rowUpdate    struct {
		Initial *Row `json:"initial"`
		Insert  *Row `json:"insert"`
		Modify  *Row `json:"modify"` // none of them: the row was deleted
	}
)

// watch reads the tables, all or what changed since the last connection, and has
// the server send changes.
func (c *Client) watch(ctx context.Context, conn *conn) error {
	schema, err := conn.call(ctx, "get_schema", c.config.Database)
	if err != nil {
		return err
	}
	m := c.mirror
	if err := m.learn(schema); err != nil {
		return err
	}
	requests := m.requests(c.config.Tables)
	m.order.Lock()
	defer m.order.Unlock()
	text, err := conn.call(ctx, "monitor_cond_since", c.config.Database, c.config.Database, requests, m.transaction())
	if err != nil {
		return err
	}
	return m.sync(text)
}

// requests lists those of the columns that the schema has.
func (m *mirror) requests(tables map[string][]string) map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]any)
	for table, columns := range tables {
		var known []string
		for _, column := range columns {
			if _, ok := m.schema[table][column]; ok {
				known = append(known, column)
			}
		}
		if known != nil {
			all[table] = []any{map[string]any{"columns": known}}
		}
	}
	return all
}

// transaction returns the last transaction of the rows, the zero id when unknown.
func (m *mirror) transaction() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cmp.Or(m.last, "00000000-0000-0000-0000-000000000000")
}

// learn reads from the schema which columns there are.
func (m *mirror) learn(schema json.RawMessage) error {
	var s struct {
		Tables map[string]struct {
			Columns map[string]struct {
				Type json.RawMessage `json:"type"`
			} `json:"columns"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return &ProtocolError{"a schema", err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.schema = make(map[string]map[string]bool)
	for table, t := range s.Tables {
		m.schema[table] = make(map[string]bool)
		for column, col := range t.Columns {
			var composite struct {
				Max any `json:"max"` // a number or "unlimited"
			}
			// A type that is a string is that of one value.
			err := json.Unmarshal(col.Type, &composite)
			m.schema[table][column] = err == nil && composite.Max != nil && composite.Max != 1.0
		}
	}
	return nil
}

// sync takes up the answer to monitor_cond_since: all rows, or what has changed
// since the transaction that was named.
func (m *mirror) sync(text json.RawMessage) error {
	var ok bool
	var last string
	var updates tableUpdates
	if err := list(text, &ok, &last, &updates); err != nil {
		return &ProtocolError{"the rows of a monitor", err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ok {
		for r := range m.rows {
			if _, retained := updates[r.table][r.uuid]; !retained {
				m.set(r, nil)
			}
		}
	}
	m.synced = true
	return m.apply(last, updates)
}

// update takes up a notification.
func (m *mirror) update(params json.RawMessage) error {
	var last string
	var updates tableUpdates
	if err := list(params, new(string), &last, &updates); err != nil {
		return &ProtocolError{"an update", err}
	}
	m.order.Lock()
	defer m.order.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apply(last, updates)
}

// apply applies changes. After an error the rows belong to no transaction, and the next connection
// reads all of them again.
func (m *mirror) apply(last string, updates tableUpdates) error {
	m.last = ""
	for table, rows := range updates {
		for uuid, u := range rows {
			if err := m.change(ref{table, uuid}, u); err != nil {
				return err
			}
		}
	}
	m.last = last
	select {
	case m.changed <- struct{}{}:
	default:
	}
	return nil
}

func (m *mirror) change(r ref, u rowUpdate) error {
	switch {
	case u.Initial != nil:
		m.set(r, *u.Initial)
	case u.Insert != nil:
		m.set(r, *u.Insert)
	case u.Modify == nil:
		m.set(r, nil)
	case m.rows[r] == nil:
		return &ProtocolError{"a change of a row of " + r.table, errNoRow}
	default:
		m.set(r, m.modified(r, *u.Modify))
	}
	return nil
}

// set replaces a row; nil removes it.
func (m *mirror) set(r ref, row Row) {
	if _, known := m.before[r]; !known {
		m.before[r] = m.rows[r]
	}
	if row == nil {
		delete(m.rows, r)
		return
	}
	m.rows[r] = row
}

// modified returns a row after a change, which has what is new of columns with one
// value, and for others what is in one of old and new but not in the other.
func (m *mirror) modified(r ref, changes Row) Row {
	row := maps.Clone(m.rows[r])
	for column, change := range changes {
		if m.schema[r.table][column] {
			change = difference(row[column], change)
		}
		row[column] = change
	}
	return row
}

func difference(old, change any) any {
	if pairs, ok := change.(Map); ok {
		prev, _ := old.(Map)
		return mapDifference(prev, pairs)
	}
	in := make(map[any]bool)
	for _, e := range elements(change) {
		in[e] = true
	}
	s := Set{}
	for _, e := range elements(old) {
		if !in[e] {
			s = append(s, e)
		}
		delete(in, e)
	}
	for _, e := range elements(change) {
		if in[e] {
			s = append(s, e)
		}
	}
	return s
}

func mapDifference(old, change Map) Map {
	m := maps.Clone(old)
	if m == nil {
		m = make(Map)
	}
	for k, v := range change {
		if prev, ok := m[k]; ok && prev == v {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	return m
}

func elements(v any) Set {
	if s, ok := v.(Set); ok {
		return s
	}
	if v == nil {
		return nil
	}
	return Set{v}
}

// Next waits until something has changed in the tables that are watched, and
// returns it. The first Delta lists all rows. While there is no connection it
// waits. The only error is that of the context. It is for one goroutine.
func (c *Client) Next(ctx context.Context) (Delta, error) {
	for {
		select {
		case <-c.mirror.changed:
		case <-ctx.Done():
			return Delta{}, ctx.Err()
		}
		if d := c.mirror.take(); d.Synced || len(d.Changes) > 0 {
			return d, nil
		}
	}
}

// take returns what has changed since it was last called.
func (m *mirror) take() Delta {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := Delta{Synced: m.synced}
	for r, old := range m.before {
		if row := m.rows[r]; old != nil || row != nil { // or it was inserted and deleted
			d.Changes = append(d.Changes, Change{r.table, r.uuid, old, row})
		}
	}
	if d.Synced {
		for r, row := range m.rows {
			if _, listed := m.before[r]; !listed {
				d.Changes = append(d.Changes, Change{r.table, r.uuid, row, row})
			}
		}
	}
	m.synced = false
	clear(m.before)
	return d
}

// Rows returns the rows of a table that is watched, as far as the client knows:
// while it is not connected, as they were. They are as in Change.
func (c *Client) Rows(table string) map[UUID]Row {
	m := c.mirror
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := make(map[UUID]Row)
	for r, row := range m.rows {
		if r.table == table {
			rows[r.uuid] = row
		}
	}
	return rows
}
