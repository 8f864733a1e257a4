package ovsdb

import (
	"encoding/json"
	"time"
)

// An Operation is one step of a transaction.
type Operation struct {
	name   string
	fields map[string]any
}

// MarshalJSON writes the operation as RFC 7047, section 5.2, wants it.
func (o Operation) MarshalJSON() ([]byte, error) {
	object := map[string]any{"op": o.name}
	for k, v := range o.fields {
		object[k] = v
	}
	return json.Marshal(object)
}

// A Condition is what rows are chosen by.
type Condition struct {
	column, function string
	value            any
}

// Is returns the condition that a column has a value.
func Is(column string, value any) Condition { return Condition{column, "==", value} }

// If returns a condition with another function: "!=", "<", "<=", ">", ">=",
// "includes" or "excludes".
func If(column, function string, value any) Condition { return Condition{column, function, value} }

// MarshalJSON writes the condition as RFC 7047, section 5.1, wants it.
func (c Condition) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]any{c.column, c.function, c.value})
}

// A Mutation changes a column relative to what it has: the mutator is one of
// "insert" and "delete" for sets and maps (where a Set of keys can be deleted),
// "+=", "-=", "*=", "/=" and "%=" for numbers.
type Mutation struct {
	Column, Mutator string
	Value           any
}

// MarshalJSON writes the mutation as RFC 7047, section 5.1, wants it.
func (m Mutation) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]any{m.Column, m.Mutator, m.Value})
}

// where keeps the list of conditions from being null, at which servers hang up.
func where(conditions []Condition) []Condition { return append([]Condition{}, conditions...) }

// Select reads the rows of a table that meet all conditions: the columns named,
// or all with nil. "_uuid" is a column.
func Select(table string, columns []string, conditions ...Condition) Operation {
	fields := map[string]any{"table": table, "where": where(conditions)}
	if columns != nil {
		fields["columns"] = columns
	}
	return Operation{"select", fields}
}

// Insert inserts a row. With a name that is not "", other operations of the transaction can refer
// to it as Named.
func Insert(table string, row Row, name Named) Operation {
	fields := map[string]any{"table": table, "row": row}
	if name != "" {
		fields["uuid-name"] = string(name)
	}
	return Operation{"insert", fields}
}

// Update replaces the given columns in all rows that meet all conditions.
func Update(table string, row Row, conditions ...Condition) Operation {
	return Operation{"update", map[string]any{"table": table, "row": row, "where": where(conditions)}}
}

// Mutate changes columns in all rows that meet all conditions.
func Mutate(table string, mutations []Mutation, conditions ...Condition) Operation {
	return Operation{
		"mutate", map[string]any{"table": table, "mutations": append([]Mutation{}, mutations...), "where": where(conditions)},
	}
}

// Delete removes all rows that meet all conditions.
func Delete(table string, conditions ...Condition) Operation {
	return Operation{"delete", map[string]any{"table": table, "where": where(conditions)}}
}

// Wait succeeds only when the named columns of the rows that meet the conditions are exactly these
// rows. After the time-out, in whole milliseconds, the transaction fails with the code [TimedOut];
// 0 means at once.
func Wait(table string, timeout time.Duration, columns []string, rows []Row, conditions ...Condition) Operation {
	return Operation{"wait", map[string]any{
		"table": table, "timeout": timeout.Milliseconds(), "columns": append([]string{}, columns...),
		"until": "==", "rows": append([]Row{}, rows...), "where": where(conditions),
	}}
}

// A Result is what became of one operation.
type Result struct {
	Count int   // of rows: update, mutate, delete
	UUID  UUID  // of the new row: insert
	Rows  []Row // select
}

// results reads the answer to a transaction of the operations.
func results(ops []Operation, text json.RawMessage) ([]Result, error) {
	var wire []*struct {
		Count   int    `json:"count"`
		UUID    any    `json:"uuid"`
		Rows    []Row  `json:"rows"`
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, &ProtocolError{"the answer to a transaction", err}
	}
	rs := make([]Result, len(ops))
	for i, w := range wire {
		switch {
		case w == nil: // not reached: an operation before it failed
			continue
		case w.Error != "":
			return nil, &OperationError{Index: i, Name: nameOf(ops, i), Code: w.Error, Details: w.Details}
		case i >= len(ops):
			continue
		}
		rs[i] = Result{Count: w.Count, Rows: w.Rows}
		if w.UUID != nil {
			u, err := atom(w.UUID)
			if err != nil {
				return nil, &ProtocolError{"the UUID of a new row", err}
			}
			rs[i].UUID, _ = u.(UUID)
		}
	}
	if len(wire) < len(ops) {
		return nil, &ProtocolError{"the answer to a transaction", errTooFew}
	}
	return rs, nil
}

// nameOf names what failed: what is after the last operation is the commit.
func nameOf(ops []Operation, i int) string {
	if i < len(ops) {
		return ops[i].name
	}
	return "commit"
}
