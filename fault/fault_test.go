package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/berthcloud/berth/fault"
)

func TestOf(t *testing.T) {
	conflict := fault.New(fault.Conflict, "placement.inventory.inuse", "Inventory for %s is in use", "VCPU")
	for _, tc := range []struct {
		err  error
		kind fault.Kind
		code fault.Code
	}{
		{nil, fault.Internal, ""},
		{errors.New("disk on fire"), fault.Internal, ""},
		{conflict, fault.Conflict, "placement.inventory.inuse"},
		{fmt.Errorf("deleting inventory: %w", conflict), fault.Conflict, "placement.inventory.inuse"},
	} {
		if kind, code := fault.Of(tc.err); kind != tc.kind || code != tc.code {
			t.Errorf("Of(%v) = %v, %q; want %v, %q", tc.err, kind, code, tc.kind, tc.code)
		}
	}
}

func TestFindKeepsTheCallersText(t *testing.T) {
	err := fmt.Errorf("reading inventories: %w", fault.New(fault.NotFound, "", "No such provider"))
	f, ok := fault.Find(err)
	if !ok || f.Error() != "No such provider" {
		t.Errorf("Find(%v) = %v, %v; want the inner fault", err, f, ok)
	}
}
