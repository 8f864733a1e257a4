package rowtable_test

import (
	"context"
	"testing"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/internal/dbtest"
	"github.com/berthcloud/berth/internal/sqltest"
	"github.com/berthcloud/berth/network"
	"github.com/berthcloud/berth/sqlstore"
	"github.com/berthcloud/berth/sqlstore/rowtable"
)

// TestTextThatPostgreSQLCannotHave refuses the one character that is in no text of PostgreSQL as
// the client's mistake. The tables have all others, on MySQL whatever the character set of the
// database is.
func TestTextThatPostgreSQLCannotHave(t *testing.T) {
	sqltest.Need(t)
	ctx := context.Background()
	where := func() sqlstore.Options {
		return sqlstore.Options{Server: server(t, dbtest.PostgreSQL(t).NewDatabase(t))}
	}
	ns := openNetwork(t, where())
	cs, err := rowtable.OpenCompute(ctx, where())
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	for _, text := range []string{"a\x00b", "a😀b"} {
		for service, err := range map[string]error{
			"network": ns.Update(ctx, now, func(w network.Writer) error {
				return w.Insert(&network.QuotaRow{Project: text, Resource: "port"})
			}),
			"compute": cs.Update(ctx, now, func(w compute.Writer) error {
				return w.Insert(&compute.QuotaRow{Project: text, Resource: "cores"})
			}),
		} {
			kind, _ := fault.Of(err)
			if refused := text == "a\x00b"; refused && kind != fault.Invalid || !refused && err != nil {
				t.Errorf("%s, %q: %v", service, text, err)
			}
		}
	}
}
