package minimal

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // registers "sqlite"
)

// group is how many transactions share a commit at most.
const group = 64

// SQLite returns transactions per second of n clients on the database in a file, written by one
// goroutine, which commits for all that wait at the time. A commit is on the disk before it is
// acknowledged.
func SQLite(ctx context.Context, file string, n int, span time.Duration) (rate float64, err error) {
	db, err := open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	b, err := read(ctx, db)
	if err != nil {
		return 0, err
	}
	s, err := prepare(ctx, db)
	if err != nil {
		return 0, err
	}
	queue, ended := make(chan chan error, group), make(chan struct{})
	go func() {
		defer close(ended)
		s.serve(ctx, &b, queue)
	}()
	rate, err = clients(n, span, func(int) error {
		done := make(chan error, 1)
		queue <- done
		return <-done
	})
	close(queue)
	<-ended
	return rate, errors.Join(err, s.conn.Close())
}

// open opens a file as a durable store does.
func open(file string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "temp_store(MEMORY)"}}
	uri := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: query.Encode()}
	return sql.Open("sqlite", uri.String())
}

// serve writes for the clients in the queue until it is closed.
func (s session) serve(ctx context.Context, b *fixture, queue <-chan chan error) {
	for first := range queue {
		members := []chan error{first}
		for len(members) < group && len(queue) > 0 {
			members = append(members, <-queue)
		}
		err := s.commit(ctx, b, len(members))
		for _, done := range members {
			done <- err
		}
	}
}

// commit executes n transactions in one commit.
func (s session) commit(ctx context.Context, b *fixture, n int) error {
	if _, err := s.conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for range n {
		if err := s.write(ctx, b, &b.providers[rand.IntN(len(b.providers))]); err != nil {
			return err
		}
	}
	_, err := s.conn.ExecContext(ctx, `COMMIT`)
	return err
}
