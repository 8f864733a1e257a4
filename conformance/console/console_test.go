package console

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// check fails the test when a page is not usable in the view that it has.
func check(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	look(t, p, name)
	for _, problem := range p.Problems() {
		t.Errorf("%s: the browser reports: %s", name, problem)
	}
}

// checkViews is check in every view, without loading the page again. Each view waits until an
// expression of JavaScript is true, "" for nothing.
func checkViews(t *testing.T, p *browser.Page, name, until string) {
	t.Helper()
	for _, problem := range p.Problems() {
		t.Errorf("%s: the browser reports: %s", name, problem)
	}
	lookViews(t, p, name, until)
	for _, problem := range p.Problems() {
		t.Errorf("%s, in other views: the browser reports: %s", name, problem)
	}
}

// lookViews is checkViews of a page whose requests are refused, which the browser reports.
func lookViews(t *testing.T, p *browser.Page, name, until string) {
	t.Helper()
	views := browser.Views()
	for _, view := range slices.Sorted(maps.Keys(views)) {
		p.Look(views[view])
		if until != "" {
			p.Until(until)
		}
		look(t, p, name+" "+view)
	}
}

// look fails the test when a page is wider than the window or axe finds something, and takes a
// picture of it when those are kept.
func look(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		p.Picture(name)
	}
	if n := p.Overflow(); n != 0 {
		t.Errorf("%s: the page is %d pixels wider than the window", name, n)
	}
	for _, finding := range p.Inaccessible() {
		t.Errorf("%s: %s", name, finding)
	}
}
