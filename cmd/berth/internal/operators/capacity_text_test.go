package operators

import (
	"strings"
	"testing"

	"github.com/berthcloud/berth/ops/capacity"
	"github.com/berthcloud/berth/ops/cloud"
)

// People get the names of the ports whose groups fit nowhere, and no None.
func TestPlanNamesPorts(t *testing.T) {
	c := &cloud.Cloud{Network: &cloud.Network{
		Ports: []cloud.Port{{UUID: "p1", Name: "fast0", Request: &cloud.PortRequest{Groups: []cloud.PortGroup{{ID: "g1"}}}}},
	}}
	r := planResult(&capacity.Plan{
		Host: "cn1", Proven: true,
		Moves: []capacity.Move{{Consumer: "s1", Name: "web", To: "cn2"}},
		Unplaceable: []capacity.Unplaceable{
			{Consumer: "s2", Name: "gold", Reason: "group g1: no host remains; 2 providers dropped: no inventory of BW"},
		},
	}, c)
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	want := `cn1 cannot be drained; these moves can be made, 1 of 2
+------+----------+------+-----+---------------------------------------------------------------------------------------------+
| Move | Consumer | Name | To  | Note                                                                                        |
+------+----------+------+-----+---------------------------------------------------------------------------------------------+
|    1 | s1       | web  | cn2 |                                                                                             |
|      | s2       | gold |     | fits on no other host: port fast0: no host remains; 2 providers dropped: no inventory of BW |
+------+----------+------+-----+---------------------------------------------------------------------------------------------+
`
	if got := text.String(); got != want {
		t.Errorf("the plan is\n%swant\n%s", got, want)
	}
}
