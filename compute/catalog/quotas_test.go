package catalog_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute"
	"github.com/berthcloud/berth/compute/catalog"
	"github.com/berthcloud/berth/compute/computetest"
	"github.com/berthcloud/berth/compute/selection"
	"github.com/berthcloud/berth/fault"
)

func TestQuotasComeOverEachOther(t *testing.T) {
	c := newCloud(t)
	cores := func(project, user string) int64 {
		t.Helper()
		return must(c.Quotas(ctx, project, user))[compute.Cores]
	}
	set := func(project, user string, n int64) {
		t.Helper()
		must(c.SetQuotas(ctx, project, user, compute.Quotas{compute.Cores: n}, false))
	}
	set(compute.DefaultClass, "", 30)
	set("red", "", 40)
	set("red", "ann", 15)
	got := []int64{cores("blue", ""), cores("red", ""), cores("red", "ann"), cores("red", "bob"), cores("", "")}
	if diff := cmp.Diff([]int64{30, 40, 15, 40, 30}, got); diff != "" {
		t.Errorf("cores (-want +got):\n%s", diff)
	}
	if q := must(c.Quotas(ctx, "red", "")); q[compute.RAM] != 51200 || len(q) != len(compute.DefaultQuotas()) {
		t.Errorf("the other limits are %v", q)
	}
	if err := c.ResetQuotas(ctx, "red", "ann"); err != nil || cores("red", "ann") != 40 {
		t.Errorf("a user's limits: %v, %d", err, cores("red", "ann"))
	}
	if err := c.ResetQuotas(ctx, "red", ""); err != nil || cores("red", "") != 30 {
		t.Errorf("a project's limits: %v, %d", err, cores("red", ""))
	}
}

func TestQuotasThatAreNotSetAreNovas(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) { s.Quotas = compute.Quotas{compute.Cores: 7} })
	if q := must(c.Quotas(ctx, "red", "")); q[compute.Cores] != 7 || q[compute.RAM] != 51200 ||
		q[compute.FloatingIPs] != -1 {
		t.Errorf("the limits are %v", q)
	}
}

// Limits are not below what is used, nor above what there is for a user.
func TestQuotasThatCannotBeSet(t *testing.T) {
	c := newCloud(t)
	for i := range 3 {
		s := computetest.Server(fmt.Sprint("vm", i), "cn1")
		s.Flavor = computetest.Flavor("f", 4, 512, 1).Keep()
		if i == 2 {
			s.User = "bob"
		}
		c.Add(s)
	}
	if diff := cmp.Diff(int64(12), must(c.Usage(ctx, computetest.Project, ""))[compute.Cores]); diff != "" {
		t.Errorf("used by the project:\n%s", diff)
	}
	refused := func(user string, n int64, text string) {
		t.Helper()
		_, err := c.SetQuotas(ctx, computetest.Project, user, compute.Quotas{compute.Cores: n}, false)
		c.Refused("SetQuotas", err, fault.Invalid, "HTTPBadRequest", text)
	}
	set := func(user string, n int64, force bool) {
		t.Helper()
		must(c.SetQuotas(ctx, computetest.Project, user, compute.Quotas{compute.Cores: n}, force))
	}
	refused("", 11, "Quota limit 11 for cores must be greater than or equal to already used and reserved 12.")
	refused("bob", 3, "Quota limit 3 for cores must be greater than or equal to already used and reserved 4.")
	set("ann", 15, false)
	refused("bob", 6, "Quota limit 6 for cores must be less than or equal to 5.")
	refused("bob", -1, "Quota limit -1 for cores must be less than or equal to 5.")
	set("bob", 5, false)
	refused("", 19, "Quota limit 19 for cores must be greater than or equal to already used and reserved 20.")
	set("", -1, false)
	set("bob", 1000, false)
	set("", 1, true)
	if used := must(c.Usage(ctx, computetest.Project, "bob")); used[compute.Instances] != 1 || used[compute.RAM] != 512 {
		t.Errorf("bob uses %v", used)
	}
}

func TestGroups(t *testing.T) {
	c := newCloud(t, func(s *compute.Settings) { s.Quotas[compute.ServerGroups] = 2 })
	make := func(name, policy string, most int) (catalog.Group, error) {
		return c.CreateGroup(ctx, compute.GroupRow{
			Project: computetest.Project, User: "ann", Name: name, Policy: policy, MaxPerHost: most,
		})
	}
	g := must(make("apart", selection.AntiAffinity, 2))
	_, err := make("together", selection.Affinity, 2)
	c.Refused("CreateGroup", err, fault.Invalid, "HTTPBadRequest", "Only anti-affinity policy supports rules.")
	must(make("apart", selection.SoftAffinity, 0))
	_, err = make("more", selection.Affinity, 0)
	c.Refused("CreateGroup", err, fault.Denied, "ServerGroupLimitExceeded", "Quota exceeded, too many server groups.")
	vm := computetest.Server("vm", "cn1")
	vm.Group = g.ID
	c.Add(vm)
	if diff := cmp.Diff([]compute.ID{vm.ID}, must(c.Group(ctx, g.ID)).Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if a, b := len(must(c.Groups(ctx, computetest.Project))), len(must(c.Groups(ctx, "red"))); a != 2 || b != 0 {
		t.Errorf("%d and %d groups, want 2 and 0", a, b)
	}
	if err := c.DeleteGroup(ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	if remaining := computetest.Read[compute.ServerRow](t, c.Store); remaining[0].Group != "" {
		t.Errorf("the server is in group %s still", remaining[0].Group)
	}
	text := fmt.Sprintf("Instance group %s could not be found.", g.ID)
	c.Refused("DeleteGroup", c.DeleteGroup(ctx, g.ID), fault.NotFound, "InstanceGroupNotFound", text)
	_, err = c.Group(ctx, g.ID)
	c.Refused("Group", err, fault.NotFound, "InstanceGroupNotFound", text)
}
