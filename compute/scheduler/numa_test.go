package scheduler

import (
	"testing"

	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/compute/request"
)

// Requests name the traits that hosts report.
func TestTraitsOfNodes(t *testing.T) {
	for requested, reported := range map[string]string{
		request.TraitNUMARoot: inventory.TraitNUMARoot, request.TraitNonNUMA: inventory.TraitNonNUMA,
		request.TraitPageSize: inventory.TraitPageSize, request.TraitPageSize + "SMALL": inventory.TraitSmallPages,
		request.TraitPageSize + "LARGE": inventory.TraitLargePages,
	} {
		if requested != reported {
			t.Errorf("%s is requested, and %s reported", requested, reported)
		}
	}
}
