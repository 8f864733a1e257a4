// Package minimal runs the minimal transactions of a claim and its release in a database, in the
// tables of a real placement service. A claim is one UPDATE that compares and swaps the generation
// of a provider, the rows of a consumer and of three allocations, and a commit; a release is the
// same UPDATE, two DELETEs and a commit. The rate of claims is compared with theirs. They do not
// check capacities, so they are unsuitable for real claims.
package minimal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// The statements. Amounts and classes (0 to 2: processors, memory, disk) are
// constant; they cost nothing to look up.
const (
	swap = `UPDATE resource_providers SET generation = ?, updated_at = ? WHERE id = ? AND generation = ?`
	hold = `INSERT INTO consumers (created_at, uuid, project_id, user_id, generation) VALUES (?, ?, ?, ?, 1)`
	take = `INSERT INTO allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)
VALUES (?, ?, ?, 0, 1), (?, ?, ?, 1, 1024), (?, ?, ?, 2, 10)`
	free   = `DELETE FROM allocations WHERE consumer_id = ?`
	forget = `DELETE FROM consumers WHERE uuid = ?`
)

// A fixture is what is read from a database beforehand.
type fixture struct {
	project, user int64
	providers     []provider
}

type provider struct {
	id, generation int64
	consumer       string // whose claim on it is released next; empty when there is none
}

func read(ctx context.Context, db *sql.DB) (b fixture, err error) {
	if err := db.QueryRowContext(ctx, `SELECT MIN(id) FROM projects`).Scan(&b.project); err != nil {
		return b, fmt.Errorf("looking for a project: %w", err)
	}
	if err := db.QueryRowContext(ctx, `SELECT MIN(id) FROM users`).Scan(&b.user); err != nil {
		return b, fmt.Errorf("looking for a user: %w", err)
	}
	rows, err := db.QueryContext(ctx, `SELECT id, generation FROM resource_providers ORDER BY id`)
	if err != nil {
		return b, err
	}
	defer rows.Close()
	for rows.Next() {
		var p provider
		if err := rows.Scan(&p.id, &p.generation); err != nil {
			return b, err
		}
		b.providers = append(b.providers, p)
	}
	return b, rows.Err()
}

// A session is a connection with its statements prepared.
type session struct {
	conn                           *sql.Conn
	swap, hold, take, free, forget *sql.Stmt
}

func prepare(ctx context.Context, db *sql.DB) (s session, err error) {
	if s.conn, err = db.Conn(ctx); err != nil {
		return s, err
	}
	for _, st := range []struct {
		to   **sql.Stmt
		text string
	}{{&s.swap, swap}, {&s.hold, hold}, {&s.take, take}, {&s.free, free}, {&s.forget, forget}} {
		if *st.to, err = s.conn.PrepareContext(ctx, st.text); err != nil {
			return s, err
		}
	}
	return s, nil
}

// write executes one claim on p, or the release of the existing one, without the commit.
func (s session) write(ctx context.Context, b *fixture, p *provider) error {
	now := time.Now().UTC().Truncate(time.Second)
	result, err := s.swap.ExecContext(ctx, p.generation+1, now, p.id, p.generation)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errors.New("somebody else changed a provider"))
	}
	p.generation++
	if p.consumer != "" {
		if _, err := s.free.ExecContext(ctx, p.consumer); err != nil {
			return err
		}
		_, err := s.forget.ExecContext(ctx, p.consumer)
		p.consumer = ""
		return err
	}
	p.consumer = uuid()
	if _, err := s.hold.ExecContext(ctx, now, p.consumer, b.project, b.user); err != nil {
		return err
	}
	_, err = s.take.ExecContext(ctx, now, p.id, p.consumer, now, p.id, p.consumer, now, p.id, p.consumer)
	return err
}

func uuid() string {
	hi, lo := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0xfff, lo&0xffffffffffff)
}

// clients runs work in a loop in n goroutines for a time and returns the calls per second.
func clients(n int, span time.Duration, work func(client int) error) (rate float64, err error) {
	var done atomic.Int64
	errs := make([]error, n)
	begin := time.Now()
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			for errs[i] == nil && time.Since(begin) < span {
				if errs[i] = work(i); errs[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	running.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds(), errors.Join(errs...)
}
