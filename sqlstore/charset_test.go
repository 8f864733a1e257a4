package sqlstore_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// narrow are databases whose tables cannot have every character, with a text that they cannot have
// and one that they can.
var narrow = map[string]struct {
	url          func(*testing.T) string
	foreign, own string
}{
	"MariaDButf8mb3": {charsetURL("utf8mb3"), "cn😀", "cné"},
	"MariaDBlatin1":  {charsetURL("latin1"), "cnж", "cné"},
	"PostgreSQLLatin1": {func(t *testing.T) string {
		s := dbtest.PostgreSQL(t)
		d := s.CreateDatabase(t)
		name := d.Name + "_latin1"
		s.Exec(t,
			"CREATE DATABASE "+name+" OWNER "+d.User+" TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
		t.Cleanup(func() { s.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)") })
		d.Name = name
		return d.URL(s.Address())
	}, "cnж", "cné"},
	"PostgreSQL": {func(t *testing.T) string { return dbtest.PostgreSQL(t).NewDatabase(t) }, "cn\x00", "cn😀"},
}

func charsetURL(charset string) func(*testing.T) string {
	return func(t *testing.T) string {
		s := dbtest.MariaDB(t)
		d := s.CreateDatabase(t)
		s.Exec(t, "ALTER DATABASE "+d.Name+" CHARACTER SET "+charset)
		return d.URL(s.Address())
	}
}

// TestTextThatTheDatabaseCannotHave refuses such text as the client's mistake, wherever it is, and
// what others request at the same time is done.
func TestTextThatTheDatabaseCannotHave(t *testing.T) {
	needServers(t)
	for name, kind := range narrow {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := serve(t, open(t, sqlstore.Options{Server: server(t, kind.url(t))}))
			host(t)(s, 1)
			refused := func(what string, err error) {
				t.Helper()
				if kind, _ := fault.Of(err); kind != fault.Invalid || !strings.Contains(fmt.Sprint(err), "character") {
					t.Errorf("%s: %v, want Invalid with the reason", what, err)
				}
			}
			create := func(name string) error {
				_, err := s.CreateProvider(ctx, placement.NewProvider{
					UUID: placement.UUID("u" + url.QueryEscape(name)), Name: name,
				})
				return err
			}
			refused("a provider's name", create(kind.foreign))
			if err := create(kind.own); err != nil {
				t.Errorf("a name that can be kept: %v", err)
			}
			_, err := s.UpdateProvider(ctx, "h1", placement.ProviderChange{Name: kind.foreign})
			refused("another name", err)
			claim := func(consumer placement.UUID, project, user string) error {
				return s.SetAllocations(ctx, placement.Claim{
					Consumer: consumer, Project: project, User: user,
					Allocations: []placement.ProviderAllocation{
						{Provider: "h1", Resources: []placement.ClassAmount{{Class: "VCPU", Amount: 1}}},
					},
				})
			}
			var all sync.WaitGroup
			for n := range 6 {
				all.Go(func() {
					switch n % 3 {
					case 0:
						refused("a claim's project", claim(id(n, "vm"), kind.foreign, "u"))
					case 1:
						refused("a claim's user", claim(id(n, "vm"), "p", kind.foreign))
					default:
						if err := claim(id(n, "vm"), kind.own, "u"); err != nil {
							t.Errorf("a claim next to those: %v", err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
