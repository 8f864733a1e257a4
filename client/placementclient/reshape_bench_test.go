package placementclient_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berthcloud/berth/allocations"
	"github.com/berthcloud/berth/client/clienttest"
	"github.com/berthcloud/berth/client/placementclient"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/guarantee"
	"github.com/berthcloud/berth/httpapi/placementapi/placementapitest"
	"github.com/berthcloud/berth/placement/service"
	"github.com/berthcloud/berth/sqlstore"
)

// BenchmarkReshapes has hosts start, 16 at a time, on which a class of 20 servers each moves to a
// device, with a placement service on a SQLite file.
func BenchmarkReshapes(b *testing.B) {
	const servers, concurrency = 20, 16
	store, err := sqlstore.Open(b.Context(), sqlstore.Options{Path: filepath.Join(b.TempDir(), "placement.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	p := clienttest.NewProxy(b, placementapitest.On(b, store, service.DefaultSettings()))
	c := placementclient.NewCompute(clienttest.Options(b, p.URL))
	defer c.Close()
	base, err := guarantee.ParseUUID(nodeID)
	if err != nil {
		b.Fatal(err)
	}
	hosts := make([]*inventory.Host, b.N)
	each := func(do func(ctx context.Context, i int) error) {
		var workers sync.WaitGroup
		var next atomic.Int64
		for range concurrency {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(hosts)); i = next.Add(1) - 1 {
					if err := do(b.Context(), int(i)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		workers.Wait()
	}
	start := func(ctx context.Context, i int) error {
		_, err := hosts[i].Sync(ctx, c, inventory.SyncOptions{Starting: true})
		return err
	}
	each(func(ctx context.Context, i int) error {
		id := base.Derive(fmt.Sprint("host ", i))
		hosts[i] = &inventory.Host{ID: id, Name: fmt.Sprint("cn", i), VCPU: inventory.Amount{Total: 64, Initial: 1}}
		hosts[i].Additional = []inventory.Additional{{
			ID: inventory.ComputeNode, File: "a.yaml", Inventories: map[string]inventory.Extra{"CUSTOM_CONTEXT": {Total: 64}},
		}}
		if err := start(ctx, i); err != nil {
			return err
		}
		for k := range servers {
			server := base.Derive(fmt.Sprint("server ", k, " of host ", i)).String()
			err := c.SetAllocations(ctx, server, allocations.Consumer{
				Project: "p", User: "u", Type: allocations.Instance,
				Amounts: allocations.Amounts{id.String(): {"VCPU": 2, "CUSTOM_CONTEXT": 1}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, h := range hosts {
		h.Additional, h.Devices = nil, []inventory.Device{{Suffix: "contexts", Class: "CUSTOM_CONTEXT", Total: 64}}
	}
	b.ResetTimer()
	each(start)
}
