package compute_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/berthcloud/berth/compute"
)

// Each method of the clients of placement and of the network service is on one of two lists: those
// that are fenced, and those that need not be, since they only read, or since what they change is
// the same whenever it takes effect. A client whose method is not fenced calls the service that it
// does not have here.
func TestChangesAreFenced(t *testing.T) {
	fenced := map[string]bool{
		"SetAllocations": true, "SetManyAllocations": true,
		"CreatePort": true, "BindPort": true, "NameProviders": true, "NameDestination": true, "UnbindPort": true,
		"DeletePort": true, "CreateBinding": true, "ActivateBinding": true, "DeleteBinding": true,
	}
	free := map[string]string{
		"Allocations": "it reads", "Candidates": "it reads", "Explain": "it reads", "Sharing": "it reads",
		"Aggregates": "it reads",
		"Group":      "no operation sends it: it is repeated until placement has what the aggregates say",
		"Networks":   "it reads", "FreePorts": "it reads", "SecurityGroups": "it reads", "Port": "it reads",
		"Ports": "it reads", "ServerPorts": "it reads", "Segments": "it reads", "PortWithAddress": "it reads",
		"Settle": "it completes what others have begun",
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	seen := map[string]bool{}
	placement, network := compute.FencePlacement(struct{ compute.Placement }{}),
		compute.FenceNetwork(struct{ compute.Network }{})
	for _, client := range []reflect.Value{reflect.ValueOf(&placement).Elem(), reflect.ValueOf(&network).Elem()} {
		for m := range client.Type().Methods() {
			seen[m.Name] = true
			if (free[m.Name] != "") == fenced[m.Name] {
				t.Errorf("%s.%s is on neither list or on both: is it to be fenced?", client.Type(), m.Name)
			}
			if !fenced[m.Name] {
				continue
			}
			arguments := []reflect.Value{reflect.ValueOf(over)}
			for in := range m.Type.Ins() {
				if len(arguments) < m.Type.NumIn() && in != reflect.TypeFor[context.Context]() {
					arguments = append(arguments, reflect.Zero(in))
				}
			}
			var err error
			func() {
				defer func() {
					if recover() != nil {
						err = errors.New("it calls the service")
					}
				}()
				results := client.MethodByName(m.Name).Call(arguments)
				err, _ = results[len(results)-1].Interface().(error)
			}()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s.%s, whose worker is to stop: %v", client.Type(), m.Name, err)
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(fenced)), slices.Collect(maps.Keys(free))) {
		if !seen[name] {
			t.Errorf("there is no method %s", name)
		}
	}
}
