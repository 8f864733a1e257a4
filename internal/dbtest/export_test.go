package dbtest

import (
	"context"
	"time"
)

// Remove removes a directory of servers that no longer run.
var Remove = remove

// Exec runs a statement with the account of a database, at an address.
func (d Database) Exec(address, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := d.engine.open(ctx, address, d)
	if err != nil {
		return err
	}
	defer c.close()
	return c.exec(ctx, statement)
}

// Text returns the first value of a query's result, with the account of a database.
func (d Database) Text(ctx context.Context, address, query string) (string, error) {
	c, err := d.engine.open(ctx, address, d)
	if err != nil {
		return "", err
	}
	defer c.close()
	return c.text(ctx, query)
}
