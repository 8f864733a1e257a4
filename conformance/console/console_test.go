package console

import (
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// check fails the test when a page is not usable in a view, and takes a picture of it.
func check(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	p.Picture(name)
	if n := p.Overflow(); n != 0 {
		t.Errorf("%s: the page is %d pixels wider than the window", name, n)
	}
	for _, finding := range p.Inaccessible() {
		t.Errorf("%s: %s", name, finding)
	}
	for _, problem := range p.Problems() {
		t.Errorf("%s: the browser reports: %s", name, problem)
	}
}
