package cloud_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berthcloud/berth/ops/cloud"
	"github.com/berthcloud/berth/ops/cloud/cloudtest"
	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/placementtest"
	"github.com/berthcloud/berth/placement/snapshot"
)

// The snapshot of records finds the candidates that the snapshot finds that they were taken from,
// also after they were in a file.
func TestSnapshotFindsTheSame(t *testing.T) {
	some := 0
	rapid.Check(t, func(rt *rapid.T) {
		b := placementtest.Forest(rt)
		before, q := b.Snapshot(), placementtest.Question(rt, b)
		c := &cloud.Cloud{Begun: time.Unix(0, 0).UTC(), Placement: cloudtest.Records(before)}
		var file bytes.Buffer
		if err := cloud.Write(&file, c); err != nil {
			rt.Fatal(err)
		}
		read, err := cloud.Read(&file)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(c, read); diff != "" {
			rt.Fatalf("records (-written +read):\n%s", diff)
		}
		again, err := read.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		want := answer(before, q)
		some += len(want)
		if diff := cmp.Diff(want, answer(again, q)); diff != "" {
			rt.Errorf("candidates (-of the snapshot +of its records):\n%s", diff)
		}
	})
	if some == 0 {
		t.Error("no query had candidates")
	}
}

// answer returns the candidates of a query as text, sorted, or its fault.
func answer(s *snapshot.Snapshot, q placement.Query) []string {
	r, err := candidates.Search(s, q)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for c := range r.All() {
		var parts []string
		for _, use := range c.Uses {
			for _, a := range use.Amounts {
				parts = append(parts, fmt.Sprintf("%s %s:%d", use.Provider.UUID, s.ClassName(a.Class), a.Amount))
			}
		}
		slices.Sort(parts)
		all = append(all, strings.Join(parts, ", "))
	}
	slices.Sort(all)
	return all
}

// Records with server groups come back from their file, with those that were not read apart from
// none at all. A file of before has none.
func TestFileKeepsServerGroups(t *testing.T) {
	group := cloud.ServerGroup{UUID: "g", Name: "apart", Policy: "anti-affinity", Members: []string{"vm1", "vm2"}}
	group.Rules.MaxPerHost = 2
	for _, compute := range []*cloud.Compute{
		{Groups: []cloud.ServerGroup{group}, ZonesKnown: true, Servers: []cloud.Server{{UUID: "vm1", Pinned: "az1"}}},
		{Groups: []cloud.ServerGroup{}},
		{},
	} {
		var file bytes.Buffer
		if err := cloud.Write(&file, &cloud.Cloud{Compute: compute}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(file.String(), "server_groups"); has != (compute.Groups != nil) {
			t.Errorf("%+v is written as %s", compute, file.String())
		}
		read, err := cloud.Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(compute, read.Compute); diff != "" {
			t.Errorf("records (-written +read):\n%s", diff)
		}
	}
}

// Files that are not whole, or not of records, are refused with a reason.
func TestReadRefuses(t *testing.T) {
	var whole bytes.Buffer
	if err := cloud.Write(&whole, &cloud.Cloud{Source: "here"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, want string }{
		"cut":      {whole.String()[:whole.Len()/2], "was cut"},
		"empty":    {"", "not a file of a cloud's records"},
		"other":    {`{"counts": []}`, `its format is ""`},
		"newer":    {strings.Replace(whole.String(), `"version":1`, `"version":2`, 1), "version 2"},
		"more":     {whole.String() + "{}", "something after the records"},
		"no JSON":  {"+-----+", "not a file of a cloud's records"},
		"no cloud": {"[]", "not a file of a cloud's records"},
	} {
		if _, err := cloud.Read(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// Records that no placement service can have make no snapshot.
func TestSnapshotRefuses(t *testing.T) {
	for want, providers := range map[string][]cloud.Provider{
		"is there twice":           {{UUID: "a", Root: "a"}, {UUID: "a", Root: "a"}},
		`has the root "b"`:         {{UUID: "a", Root: "b"}},
		"has the parent b, which ": {{UUID: "a", Root: "a", Parent: "b"}},
	} {
		c := &cloud.Cloud{Placement: &cloud.Placement{Providers: providers}}
		if _, err := c.Snapshot(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
