package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/sqlstore"
)

// fill makes n hosts with three inventories and two traits each, with amount
// allocations on each of them.
func fill(b testing.TB, s *sqlstore.Store, n, amount int) []placement.ProviderRow {
	b.Helper()
	var hosts []placement.ProviderRow
	err := s.Update(context.Background(), now, func(w placement.Writer) error {
		hosts = nil
		gold, err1 := w.InsertTrait("CUSTOM_GOLD")
		iron, err2 := w.InsertTrait("CUSTOM_IRON")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for i := range n {
			host, err := fillHost(w, i, amount)
			if err != nil {
				return err
			}
			if err := w.AddProviderTraits(host.ID, gold, iron); err != nil {
				return err
			}
			hosts = append(hosts, host)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return hosts
}

func fillHost(w placement.Writer, i, amount int) (placement.ProviderRow, error) {
	name := fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
	host := placement.ProviderRow{UUID: placement.UUID(name), Name: name}
	var err error
	if host.ID, err = w.InsertProvider(host); err != nil {
		return host, err
	}
	inv := placement.Inventory{
		Total: placement.MaxInt, MinUnit: 1, MaxUnit: placement.MaxInt, StepSize: 1, AllocationRatio: 1,
	}
	var rows []placement.AllocationRow
	for class := range placement.ClassID(3) {
		err = errors.Join(err, w.InsertInventory(host.ID, class, inv))
		for n := range amount {
			vm := placement.UUID(fmt.Sprintf("%s/%d", name[20:], n))
			rows = append(rows, placement.AllocationRow{Provider: host.ID, Consumer: vm, Class: class, Used: 1})
		}
	}
	return host, errors.Join(err, w.WriteClaims(placement.ClaimRows{Allocations: rows}))
}

func BenchmarkTreeRows(b *testing.B) {
	s := openTemp(b)
	hosts := fill(b, s, 10000, 10)
	for _, roots := range [][]int64{nil, {hosts[17].ID}} {
		b.Run(fmt.Sprintf("roots=%d", len(roots)), func(b *testing.B) {
			for b.Loop() {
				err := s.View(context.Background(), func(r placement.Reader) error {
					_, err := r.TreeRows(roots)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
