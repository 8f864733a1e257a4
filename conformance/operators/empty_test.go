package operators

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// emptied is a host with servers of server groups: the service makes the move of a plan, and
// neither one that a group forbids nor that of a server for which the plan has no host.
func (s *stack) emptied(t *testing.T) {
	boot := func(name, host, group string) {
		t.Helper()
		var answer struct{ Server struct{ ID string } }
		body := object{
			"server":             object{"name": name, "flavorRef": "f1", "imageRef": image, "networks": "none", "host": host},
			"os:scheduler_hints": object{"group": group},
		}
		accepted := s.computes.Must(t, http.StatusAccepted, "POST", "/servers", body)
		if err := json.Unmarshal(accepted.Body, &answer); err != nil {
			t.Fatal(err)
		}
		s.ids["server "+name] = answer.Server.ID
		t.Cleanup(func() {
			path := "/servers/" + answer.Server.ID
			s.deleted(t, s.computes, path)
			await(t, name+" is deleted", func() bool {
				a, err := s.computes.Do("GET", path, nil)
				return err == nil && a.Status == http.StatusNotFound
			})
			delete(s.ids, "server "+name)
		})
		s.await(t, name, "ACTIVE")
	}
	group := func(name, policy string) string {
		id := made(t, s.computes, "/os-server-groups", "server_group", object{"name": name, "policy": policy})
		t.Cleanup(func() { s.deleted(t, s.computes, "/os-server-groups/"+id) })
		return id
	}
	apart, together := group("apart", "anti-affinity"), group("together", "affinity")
	boot("apart0", s.hosts[1], apart)
	boot("apart1", s.hosts[0], apart)
	boot("together0", s.hosts[1], together)

	got := s.berth(t, nil, "capacity", "drain", s.hosts[1], "-f", "json")
	var plan struct {
		Moves []struct{ Name, To string }
		Stuck []struct{ Name, Reason string }
	}
	if err := json.Unmarshal([]byte(got.stdout), &plan); err != nil || got.code != 6 {
		t.Fatalf("%v: %s", err, got)
	}
	at := slices.IndexFunc(plan.Moves, func(m struct{ Name, To string }) bool { return m.Name == "apart0" })
	if at < 0 || plan.Moves[at].To != s.hosts[2] {
		t.Errorf("apart0 is to go to %s: %+v", s.hosts[2], plan.Moves)
	}
	if len(plan.Stuck) != 1 || plan.Stuck[0].Name != "together0" ||
		!strings.Contains(plan.Stuck[0].Reason, "its server group together (affinity)") {
		t.Errorf("together0 is to stay: %+v", plan.Stuck)
	}

	for _, tc := range []struct{ server, host string }{
		{"apart0", s.hosts[0]}, {"together0", s.hosts[0]}, {"together0", s.hosts[2]},
	} {
		s.action(t, tc.server, object{"migrate": object{"host": tc.host}})
		await(t, tc.server+" is refused", func() bool {
			var list struct {
				Actions []struct{ Action, Message string } `json:"instanceActions"`
			}
			s.computes.Read(t, "/servers/"+s.id("server "+tc.server)+"/os-instance-actions", &list)
			return len(list.Actions) > 0 && list.Actions[0].Action == "migrate" && list.Actions[0].Message == "Error"
		})
		s.await(t, tc.server, "ACTIVE")
		if host := fmt.Sprint(s.show(t, tc.server)["OS-EXT-SRV-ATTR:host"]); host != s.hosts[1] {
			t.Errorf("%s, which was to go to %s, is on %s", tc.server, tc.host, host)
		}
	}
	s.action(t, "apart0", object{"migrate": object{"host": s.hosts[2]}})
	s.await(t, "apart0", "VERIFY_RESIZE")
}
