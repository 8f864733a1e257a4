package sqlconn

import "context"

// A Trace is called for every statement before it runs, with the context of the
// View or Update that it belongs to, and end with the statement's error, or nil.
// Statements have marks in place of values. Nil for none.
type Trace func(ctx context.Context, statement string) (end func(error))

// begin calls the trace; a nil one does nothing.
func (t Trace) begin(ctx context.Context, statement string) func(error) {
	if t == nil {
		return func(error) {}
	}
	return t(ctx, statement)
}
