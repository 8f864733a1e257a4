package catalog_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/fault"
)

func (c *cloud) flavor(name string, public bool) compute.FlavorRow {
	c.Helper()
	f := computetest.Flavor(name, 1, 256, 1)
	f.Public = public
	return must(c.CreateFlavor(ctx, *f))
}

// names lists flavors as a viewer sees them.
func (c *cloud) names(v compute.Viewer, f catalog.FlavorFilter) string {
	c.Helper()
	var all []string
	for _, row := range must(c.Flavors(ctx, v, f)) {
		all = append(all, row.Name)
	}
	return strings.Join(all, " ")
}

func TestFlavorsAreSeenByThoseWhoMay(t *testing.T) {
	c := newCloud(t)
	c.flavor("open", true)
	c.flavor("ours", false)
	c.flavor("theirs", false)
	deleted := *computetest.Flavor("gone", 4, 4096, 10)
	deleted.Disabled = true
	c.Add(&deleted)
	must(c.AllowFlavor(ctx, "ours", computetest.Project, true))
	yes, no := true, false
	for _, test := range []struct {
		v    compute.Viewer
		f    catalog.FlavorFilter
		want string
	}{
		{admin, catalog.FlavorFilter{}, "gone open ours theirs"},
		{admin, catalog.FlavorFilter{Public: &yes}, "gone open"},
		{compute.Viewer{Project: computetest.Project, Admin: true}, catalog.FlavorFilter{Public: &yes}, "gone open ours"},
		{admin, catalog.FlavorFilter{Public: &no}, "ours theirs"},
		{admin, catalog.FlavorFilter{MinMemoryMB: 257}, "gone"},
		{admin, catalog.FlavorFilter{MinRootGB: 11}, ""},
		{blue, catalog.FlavorFilter{}, "open ours"},
		{blue, catalog.FlavorFilter{Public: &no}, "open ours"},
		{compute.Viewer{Project: "red"}, catalog.FlavorFilter{}, "open"},
	} {
		if got := c.names(test.v, test.f); got != test.want {
			t.Errorf("%+v, %+v: %q, want %q", test.v, test.f, got, test.want)
		}
	}
	for id, sees := range map[compute.ID]bool{"open": true, "ours": true, "theirs": false, "nobody": false} {
		_, err := c.Flavor(ctx, blue, id)
		if sees && err != nil {
			t.Errorf("Flavor(%s) = %v", id, err)
		}
		if !sees {
			c.Refused("Flavor", err, fault.NotFound, "FlavorNotFound", fmt.Sprintf("Flavor %s could not be found.", id))
		}
	}
}

func TestCreateFlavor(t *testing.T) {
	c := newCloud(t)
	f := *computetest.Flavor(" m1.tiny ", 1, 256, 0)
	f.ID = ""
	got := must(c.CreateFlavor(ctx, f))
	if len(got.ID) != 36 || got.Name != "m1.tiny" || got.CreatedAt.IsZero() {
		t.Errorf("the flavor is %+v", got)
	}
	if diff := cmp.Diff(got, must(c.Flavor(ctx, blue, got.ID))); diff != "" {
		t.Errorf("it was kept otherwise:\n%s", diff)
	}
	refused := func(change func(*compute.FlavorRow), kind fault.Kind, code fault.Code, text string) {
		t.Helper()
		f := *computetest.Flavor("other", 1, 256, 0)
		change(&f)
		_, err := c.CreateFlavor(ctx, f)
		c.Refused("CreateFlavor", err, kind, code, text)
	}
	refused(func(f *compute.FlavorRow) { f.Name = "m1.tiny" }, fault.Conflict, "FlavorExists",
		"Flavor with name m1.tiny already exists.")
	refused(func(f *compute.FlavorRow) { f.ID = got.ID }, fault.Conflict, "FlavorIdExists",
		fmt.Sprintf("Flavor with ID %s already exists.", got.ID))
	refused(func(f *compute.FlavorRow) { f.VCPUs = 0 }, fault.Invalid, "InvalidInput",
		"Invalid input received: vcpus must be >= 1")
	refused(func(f *compute.FlavorRow) { f.MemoryMB = 0 }, fault.Invalid, "InvalidInput",
		"Invalid input received: ram must be >= 1")
	refused(func(f *compute.FlavorRow) { f.SwapMB = 1 << 31 }, fault.Invalid, "InvalidInput",
		"Invalid input received: swap must be <= 2147483647")
	for _, factor := range []float64{0, -1, 1e39, math.NaN(), math.Inf(1)} {
		refused(func(f *compute.FlavorRow) { f.RxTx = factor }, fault.Invalid, "InvalidInput",
			"Invalid input received: 'rxtx_factor' argument must be a float between 0 and 3.40282e+38")
	}
	if n := len(must(c.Flavors(ctx, admin, catalog.FlavorFilter{}))); n != 1 {
		t.Errorf("%d flavors, want 1", n)
	}
}

func TestExtraSpecs(t *testing.T) {
	c := newCloud(t)
	c.flavor("f", true)
	must(c.SetExtraSpecs(ctx, "f", map[string]string{"resources:VGPU": "1", "hw:boot_menu": "yes"}))
	must(c.SetExtraSpecs(ctx, "f", map[string]string{"resources:VGPU": "two", "odd": "x"}))
	want := map[string]string{"resources:VGPU": "two", "hw:boot_menu": "yes", "odd": "x"}
	if diff := cmp.Diff(want, must(c.Flavor(ctx, blue, "f")).Specs); diff != "" {
		t.Errorf("extra specs (-want +got):\n%s", diff)
	}
	if err := c.DeleteExtraSpec(ctx, "f", "odd"); err != nil {
		t.Error(err)
	}
	c.Refused("DeleteExtraSpec", c.DeleteExtraSpec(ctx, "f", "odd"), fault.NotFound, "FlavorExtraSpecsNotFound",
		"Flavor f has no extra specs with key odd.")
	_, err := c.SetExtraSpecs(ctx, "g", nil)
	c.Refused("SetExtraSpecs", err, fault.NotFound, "FlavorNotFound", "Flavor g could not be found.")
}

func TestFlavorAccess(t *testing.T) {
	c := newCloud(t)
	c.flavor("open", true)
	c.flavor("f", false)
	_, err := c.AllowFlavor(ctx, "open", "red", true)
	c.Refused("AllowFlavor", err, fault.Conflict, "FlavorIsPublic", "Can not add access to a public flavor.")
	must(c.AllowFlavor(ctx, "open", "red", false)) // before version 2.7
	must(c.AllowFlavor(ctx, "f", "red", true))
	if diff := cmp.Diff([]string{"blue", "red"}, must(c.AllowFlavor(ctx, "f", "blue", true))); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	_, err = c.AllowFlavor(ctx, "f", "red", true)
	c.Refused("AllowFlavor", err, fault.Conflict, "FlavorAccessExists",
		"Flavor access already exists for flavor f and project red combination.")
	if diff := cmp.Diff([]string{"blue"}, must(c.DenyFlavor(ctx, "f", "red"))); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	_, err = c.DenyFlavor(ctx, "f", "red")
	c.Refused("DenyFlavor", err, fault.NotFound, "FlavorAccessNotFound",
		"Flavor access not found for f / red combination.")
	for project, sees := range map[string]bool{"blue": true, "red": false} {
		if projects, err := c.FlavorAccess(ctx, compute.Viewer{Project: project}, "f"); sees != (err == nil) ||
			sees && len(projects) != 1 {
			t.Errorf("FlavorAccess for %s = %v, %v", project, projects, err)
		}
	}
	_, err = c.FlavorAccess(ctx, compute.Viewer{Project: "red"}, "f")
	c.Refused("FlavorAccess", err, fault.NotFound, "FlavorNotFound", "Flavor f could not be found.")
	_, err = c.FlavorAccess(ctx, compute.Viewer{}, "open")
	c.Refused("FlavorAccess", err, fault.NotFound, "FlavorNotFound", "Access list not available for public flavors.")
	if err := c.DeleteFlavor(ctx, "f"); err != nil {
		t.Error(err)
	}
	c.Refused("DeleteFlavor", c.DeleteFlavor(ctx, "f"), fault.NotFound, "FlavorNotFound", "Flavor f could not be found.")
}
