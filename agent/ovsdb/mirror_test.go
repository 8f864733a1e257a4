package ovsdb_test

import (
	"fmt"
	"testing"

	"github.com/berthcloud/berth/agent/ovsdb"
)

// Whatever a server sends is taken up or an error, and what the changes say is
// what they said before, changed.
func FuzzMirror(f *testing.F) {
	f.Add([]byte(`[false,"t1",{"Port":{"`+uuid1+
		`":{"initial":{"name":"a","trunks":["set",[1,2]],"ids":["map",[["a","b"]]]}}}}]`),
		[]byte(`["x","t2",{"Port":{"`+uuid1+`":{"modify":{"tag":["set",[]],"trunks":3,"ids":["map",[["a","c"]]]}}}}]`))
	f.Add([]byte(`[true,"",{}]`), []byte(`["x","t2",{"Port":{"":{"delete":null}}}]`))
	f.Fuzz(func(t *testing.T, all, changes []byte) {
		m, err := ovsdb.NewMirror(schema)
		if err != nil {
			t.Fatal(err)
		}
		known := make(map[string]bool)
		for i, take := range []func([]byte) error{m.Sync, m.Update, m.Sync, m.Update} {
			_ = take([][]byte{all, changes}[i%2])
			for _, c := range m.Take().Changes {
				key := fmt.Sprint(c.Table, " ", c.UUID)
				if known[key] != (c.Old != nil) {
					t.Fatalf("%s was known: %t, and the change says %v", key, known[key], c)
				}
				known[key] = c.New != nil
			}
		}
	})
}
