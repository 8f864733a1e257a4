package lifecycle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
)

// storedBodies are bodies of operations as versions before the families wrote them, with every
// member that operations of the kind may have. An image was written with each, which is ignored
// where it is none.
var storedBodies = map[string]string{
	KindBoot: `{"action":"a","event":"e","by":{"project":"p","user":"u","request":"req-1","global":"req-2"},` +
		`"asked":"e","reservation":"r-1","unavailable":{"text":"t","details":"d"},"image":{"ID":"i","Name":"n",` +
		`"DiskFormat":"raw","Properties":{"hw_x":"y"}},"node":"n1","claim":{"Host":"cn1","Node":"cn1.example",` +
		`"Provider":"rp","Amounts":{"rp":{"VCPU":1}},"Mappings":{"x":["rp"]}},"rest":[{"Host":"cn1","Node":"cn1.example",` +
		`"Provider":"rp","Amounts":{"rp":{"VCPU":1}},"Mappings":{"x":["rp"]}}],"devices":{"p1":{"slot":"0000:81:00.1",` +
		`"vendor":"8086:154d","parent":"ens1"}},"forced":true,"networks":[{"network":"n","address":"192.0.2.1","tag":"t"}],` +
		`"groups":["g"],"tried":2,"anew":true,"causes":[{"host":"cn1","text":"t","details":"d"}]}`,
	kindAttach: `{"action":"a","event":"e","asked":"e","port":"p1","own":true,"place":3,"amounts":{"rp":{"VCPU":1}},` +
		`"done":true,"settled":true,"claim":{"Host":"cn1","Node":"cn1.example","Provider":"rp","Amounts":{"rp":{"VCPU":1}},` +
		`"Mappings":{"x":["rp"]}},"attempt":{"at":"2026-11-20T10:00:00Z","generation":3,"before":null},"making":true,` +
		`"others":["p2"],"bound":true,"unsure":{"at":"2026-11-20T10:00:00Z","revision":4,"held":{"rp":{"VCPU":2}}}}`,
	KindLive: `{"action":"a","image":{"ID":"i","Name":"n","DiskFormat":"raw","Properties":null},"migration":"m",` +
		`"flavor":{"id":"f"},"flavor_id":"f","exchange":{"at":"2026-11-20T10:00:00Z","generation":3,"before":null},` +
		`"return":{"at":"2026-11-20T10:00:00Z","generation":3,"before":null},"host":"cn2","trouble":{"code":500,` +
		`"message":"m","created":""}}`,
	KindPower: `{"action":"a","event":"e","verb":"reboot"}`,
}

// Rows that earlier versions have written are read by the family of their kind, and written as they
// were.
func TestStoredBodiesStay(t *testing.T) {
	kinds := newKinds()
	for name, body := range storedBodies {
		d, err := kinds[name].read(compute.OperationRow{Body: []byte(body)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var was, written any
		if err := json.Unmarshal([]byte(body), &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, written); diff != "" {
			t.Errorf("the body of %s, read and written (-before +after):\n%s", name, diff)
		}
	}
}
