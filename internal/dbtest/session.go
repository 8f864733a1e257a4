package dbtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Exec runs statements one after the other on one connection of an administrator.
func (s *Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	if err := s.exec(statements); err != nil {
		t.Fatal(err)
	}
}

// Text returns the result of an administrator's query, the first column of the first row, as text:
// "" when that is null or when there is no row.
func (s *Server) Text(t testing.TB, query string) string {
	t.Helper()
	text, err := s.text(query)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *Server) exec(statements []string) error {
	return s.with(queryTime, func(ctx context.Context, c session) error {
		for _, statement := range statements {
			if err := c.exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", verb(statement), err)
			}
		}
		return nil
	})
}

func (s *Server) text(query string) (text string, err error) {
	err = s.with(queryTime, func(ctx context.Context, c session) error {
		text, err = c.text(ctx, query)
		return err
	})
	return text, err
}

// admits reports why a database's own account cannot use it.
func (s *Server) admits(d Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	c, err := s.engine.open(ctx, s.Address(), d)
	if err == nil {
		c.close()
	}
	return err
}

// with calls do with an administrator's session, for as long as limit.
func (s *Server) with(limit time.Duration, do func(context.Context, session) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := s.engine.open(ctx, s.Address(), s.admin)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", s.engine.name(), s.Address(), err)
	}
	defer c.close()
	return do(ctx, c)
}

// verb returns the first two words of a statement: the rest may contain a password.
func verb(statement string) string {
	words := strings.Fields(statement)
	return strings.Join(words[:min(2, len(words))], " ")
}
