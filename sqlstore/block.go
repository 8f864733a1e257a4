package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/berthcloud/berth/placement"
)

// A block is a transaction in one statement, from its beginning to its commit,
// which MariaDB takes (BEGIN NOT ATOMIC … END) and prepares:
//
//	BEGIN NOT ATOMIC
//	START TRANSACTION;
//	UPDATE resource_providers …;
//	IF ROW_COUNT() <> ? THEN SIGNAL …; END IF;
//	…
//	INSERT INTO berth_changes …;
//	COMMIT;
//	END
//
// It is one round trip with one answer, the ids of consumers that it made if there are
// any, and the server has read the statements before. For it the session holds changes back until the commit. They are made
// as they would have been otherwise, in a packet, as soon as anything else is
// asked of the transaction.
//
// A connection that has been idle may be gone, and a commit that is not answered is
// looked up in the change log, which takes a while. So the first transaction after a
// pause goes in packets.
//
// The first statement that fails ends a block, and so does one that changes more or
// fewer rows than it must: nothing is committed then.

// blockPause is how long a connection may have been idle before a block.
const blockPause = 5 * time.Second

// mostInBlock is how many values a block has at most: as many as some sixty claims have.
// A server takes 65,535.
const mostInBlock = 2000

// takesBlock reports whether the next transaction may go as a block.
func (s *session) takesBlock() bool { return s.blocks && time.Since(s.heard) < blockPause }

// A heldBack is what a session holds back until the commit.
type heldBack struct {
	changes []mustChange
	ends    []func(error) // are told what came of them
}

// hold holds changes back, behind those that are held back already.
func (s *session) hold(changes []mustChange, end func(error)) {
	if s.held == nil {
		s.held = &heldBack{}
	}
	s.held.changes = append(s.held.changes, changes...)
	s.held.ends = append(s.held.ends, end)
}

// ended tells what came of the changes.
func (h *heldBack) ended(err error) {
	for _, end := range h.ends {
		end(err)
	}
}

// sendHeld makes the changes that are held back, and fails with
// placement.ErrStale when one does not meet its rows.
func (s *session) sendHeld() error {
	h := s.held
	if h == nil {
		return nil
	}
	s.held = nil
	counts, err := s.change(statements(h.changes))
	if err == nil && !asExpected(counts, h.changes) {
		err = placement.ErrStale
	}
	h.ended(err)
	return err
}

func statements(changes []mustChange) []statement {
	all := make([]statement, len(changes))
	for i := range changes {
		all[i] = changes[i].statement
	}
	return all
}

// commitHeld makes the changes that are held back and a last one, and commits, all
// in one block. It reports false when the block is too big or the server does not take
// it: then nothing was done, and everything is held back as before.
func (s *session) commitHeld(last statement) (sent bool, err error) {
	text, args, ids := s.block(last)
	if len(args) > mostInBlock {
		return false, nil
	}
	w := s.watch()
	st, err := s.prepare(text)
	if err != nil {
		if err = s.ended(w, err); s.dead {
			s.dropHeld(err)
			return true, notCommitted{err}
		}
		s.blocks = false
		return false, nil
	}
	err = s.ended(w, runBlock(w.ctx, st, args, ids))
	if err != nil && s.d.signalled(err) {
		err = notCommitted{placement.ErrStale}
	}
	s.dropHeld(err)
	s.forget()
	return true, err
}

// errTakenBack is what comes of changes whose Update fails.
var errTakenBack = errors.New("sqlstore: the changes were not made")

// dropHeld forgets what is held back, and tells what came of it.
func (s *session) dropHeld(err error) {
	if h := s.held; h != nil {
		s.held = nil
		h.ended(err)
	}
}

// runBlock runs a prepared block, and reads the ids that it answers with if they are asked
// for.
func runBlock(ctx context.Context, st *sql.Stmt, args []any, ids func(first, step int64)) error {
	if ids == nil {
		_, err := st.ExecContext(ctx, args...)
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var first, step int64
	for rows.Next() {
		if err := rows.Scan(&first, &step); err != nil {
			return err
		}
	}
	for rows.NextResultSet() { // what comes of the block is told behind them
	}
	if err := rows.Err(); err != nil {
		return err
	}
	ids(first, step)
	return nil
}

// block is the text of the block that the session would commit with. With ids it answers
// with those of the last rows that were added and want them.
func (s *session) block(last statement) (text string, args []any, ids func(first, step int64)) {
	var b strings.Builder
	b.WriteString("BEGIN NOT ATOMIC")
	for _, query := range s.put {
		b.WriteString("\n" + query + ";")
	}
	for _, c := range s.held.changes {
		args = append(args, c.args...)
		if c.ids != nil {
			ids = c.ids
		}
		b.WriteString(c.query + stopUnless)
		args = append(args, c.rows)
	}
	b.WriteString(last.query + ";\nCOMMIT;")
	if ids != nil {
		b.WriteString("\nSELECT LAST_INSERT_ID(), @@auto_increment_increment;")
	}
	b.WriteString("\nEND")
	return b.String(), append(args, last.args...), ids
}

// stopUnless ends a block unless the statement before it met its rows.
const stopUnless = `;
IF ROW_COUNT() <> ? THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stale'; END IF;`

// askFirst asks a question before the server hears of the transaction that was begun,
// and of what is held back: with READ COMMITTED that is the same, unless the question
// is about that, and all can go with the commit. It is for sessions that have blocks
// and are untouched.
func (s *session) askFirst(q question) error {
	put, held := s.put, s.held
	s.put, s.held, s.opening, s.often = nil, nil, false, true
	defer func() { s.put, s.held, s.opening, s.often = put, held, true, false }()
	for start := time.Now(); ; {
		answered := false
		err := s.query(func(rows *sql.Rows, _ *watch) error {
			answered = true
			return walk(rows, q.each)
		}, q.query, q.args...)
		if err == nil || answered || !s.dead || s.fresh(start) {
			return err
		}
		if lost := s.connect(context.Background()); lost != nil || !s.blocks {
			return cmp.Or(lost, err)
		}
	}
}
