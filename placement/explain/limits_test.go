package explain

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/placementtest"
)

// An explanation ends with its context, whatever takes its time: the number of groups, or a host of
// which it is hard to say whether groups fit together.
func TestExplanationsEnd(t *testing.T) {
	const egress, ingress = "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC"
	b := placementtest.NewBuilder()
	for host := range 20 {
		name := fmt.Sprintf("cn%d", host)
		b.Provider(name).Inventory("VCPU", 8)
		for i := range 20 {
			b.Provider(fmt.Sprintf("%s/nic%d", name, i)).Inventory(egress, 100).Inventory(ingress, 100)
		}
	}
	s := b.Snapshot()
	var hard, many placement.Query
	for i := range int64(21) { // any two need different NICs, for reasons that differ from pair to pair
		hard.Groups = append(hard.Groups, placement.RequestGroup{
			Suffix:    fmt.Sprintf("_%d", i),
			Resources: []placement.ClassAmount{{Class: egress, Amount: 45 + 15*(i%2)}, {Class: ingress, Amount: 60 - 15*(i%2)}},
		})
	}
	for i := range int64(MaxGroups) {
		many.Groups = append(many.Groups, placement.RequestGroup{
			Suffix:    fmt.Sprintf("_%d", i),
			Resources: []placement.ClassAmount{{Class: egress, Amount: i*i + 7}, {Class: ingress, Amount: 3*i + 1}},
			Forbidden: []string{"CUSTOM_A", "CUSTOM_B"},
		})
	}
	b.Trait("CUSTOM_A")
	b.Trait("CUSTOM_B")
	for name, q := range map[string]placement.Query{"hard": hard, "many groups": many} {
		for _, o := range []Options{{Near: 5}, {Host: "cn1"}} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := Explain(ctx, s, q, o)
				ended <- err
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, %+v: %v", name, o, err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s, %+v: the explanation goes on after its context has ended", name, o)
			}
		}
	}
	many.Groups = append(many.Groups, placement.RequestGroup{Suffix: "_one_more", Resources: many.Groups[0].Resources})
	_, err := Explain(t.Context(), s, many, Options{})
	if kind, _ := fault.Of(err); kind != fault.Invalid {
		t.Errorf("a query with %d groups: %v", len(many.Groups), err)
	}
}
