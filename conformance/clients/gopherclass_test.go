package clients

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceclasses"
)

// classes makes, finds and deletes custom resource classes.
func (g *gopher) classes() {
	if g.before("1.2") {
		return
	}
	opts := resourceclasses.CreateOpts{Name: "CUSTOM_GOPHER"}
	g.ok("create class", resourceclasses.Create(g.ctx, g.c, opts).ExtractErr())
	g.refused("create it again", resourceclasses.Create(g.ctx, g.c, opts).ExtractErr(), 409)
	if !g.before("1.7") {
		g.ok("ensure class", resourceclasses.Update(g.ctx, g.c, opts.Name).ExtractErr())
		g.ok("ensure another", resourceclasses.Update(g.ctx, g.c, "CUSTOM_OTHER").ExtractErr())
		g.ok("delete class", resourceclasses.Delete(g.ctx, g.c, "CUSTOM_OTHER").ExtractErr())
	}
	one, err := resourceclasses.Get(g.ctx, g.c, opts.Name).Extract()
	g.ok("get class", err)
	g.same("class", opts.Name, one.Name)
	g.same("custom classes", []string{opts.Name}, g.customClasses())
	g.ok("delete class", resourceclasses.Delete(g.ctx, g.c, opts.Name).ExtractErr())
	g.refused("delete no class", resourceclasses.Delete(g.ctx, g.c, opts.Name).ExtractErr(), 404)
}

func (g *gopher) customClasses() []string {
	g.t.Helper()
	page, err := resourceclasses.List(g.c).AllPages(g.ctx)
	g.ok("list classes", err)
	all, err := resourceclasses.ExtractResourceClasses(page)
	g.ok("list classes", err)
	var custom []string
	for _, c := range all {
		if strings.HasPrefix(c.Name, "CUSTOM_") {
			custom = append(custom, c.Name)
		}
	}
	return slices.Sorted(slices.Values(custom))
}

// minor returns the part of a microversion behind the dot.
func minor(t *testing.T, version string) int {
	t.Helper()
	_, after, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(after)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
