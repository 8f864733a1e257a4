package computeapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/conformance/neutron"
	"github.com/berthcloud/berth/conformance/nova"
)

// A host that knows the revision is answered when the list changes, and not before.
func TestHostsWaitForNews(t *testing.T) {
	s := newSide(t)
	s.options.Network = somePorts()
	s.Reset(t)
	s.Heartbeat(t, neutron.Agent{Host: "cn1"})
	s.say(t, said{"admin", "POST", "/v2.1/flavors", "", `{"flavor": {"name": "c1", "id": "c1", "ram": 256, "vcpus": 1, "disk": 1}}`})
	const vm = "33333333-0000-4000-8000-000000000001"
	s.makeServer(t, neutron.Agent{Kind: nova.Server, Host: "vm0", Configurations: map[string]any{"id": vm, "flavor": "c1", "image": image, "host": "cn1"}})

	_, first := s.say(t, said{"service", "GET", "/berth/v1/hosts/cn1/servers", "", ""})
	var known struct{ Revision string }
	if err := json.Unmarshal([]byte(first), &known); err != nil || known.Revision == "" {
		t.Fatalf("the host is to do %s: %v", first, err)
	}
	ask := "/berth/v1/hosts/cn1/servers?revision=" + known.Revision
	if _, same := s.say(t, said{"service", "GET", ask, "", ""}); same != first {
		t.Errorf("without a change the host is to do %s, then %s", first, same)
	}
	answers := make(chan string)
	go func() {
		_, answer := s.say(t, said{"service", "GET", ask + "&wait=60", "", ""})
		answers <- answer
	}()
	if status, answer := s.say(t, said{"member", "POST", "/v2.1/servers/" + vm + "/action", "", `{"os-stop": null}`}); status != http.StatusAccepted {
		t.Fatalf("os-stop is answered %d %s", status, answer)
	}
	select {
	case answer := <-answers:
		if strings.Contains(answer, known.Revision) || !strings.Contains(answer, `"running":false`) {
			t.Errorf("the answer is %s", answer)
		}
	case <-time.After(30 * time.Second):
		t.Error("the host waits still")
	}
}
