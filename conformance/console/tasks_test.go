package console

import (
	"os"
	"strings"
	"testing"

	"github.com/berthcloud/berth/conformance/browser"
)

// searchLabel is the label of the search in the header.
const searchLabel = "Search for a host, provider, server, port, trait, aggregate or project"

// TestTasks does what docs/operations/console.md says that an operator does: each task takes at
// most three clicks and one search.
func TestTasks(t *testing.T) {
	document, err := os.ReadFile("../../docs/operations/console.md")
	if err != nil {
		t.Fatal(err)
	}
	url := startConsole(t, "--from-file", writeRecords(t, 200))
	chromium := browser.Start(t)
	for _, task := range []struct {
		name   string // as in the document
		search string
		clicks []string
		want   string // what the page says then
	}{
		{
			"How many more servers like vm10 fit, and where?", "vm10",
			[]string{"server vm10", "How many more like it fit?"},
			"more fit",
		},
		{
			"Who has the bandwidth of br-physnet0 on cn5?", "cn5:Open vSwitch agent:br-physnet0",
			[]string{"provider cn5:Open vSwitch agent:br-physnet0"},
			"Egress 0 of 10 Gbit/s",
		},
		{"Why was a server refused?", "", []string{"Servers", "why?"}, "No host fits."},
		{"Which hosts have the least memory free?", "", []string{"Memory"}, "cn199"},
		{
			"Which other hosts could vm10 be on?", "vm10",
			[]string{"server vm10", "Which other hosts could it be on, and why not the rest?"},
			"of 200 hosts fit.",
		},
		{"Can cn10 be emptied, and how?", "cn10", []string{"host cn10", "Can it be emptied?"}, "The moves, in this order"},
		{"Which hosts have a GPU?", "vulkan", []string{"trait HW_GPU_API_VULKAN 67 hosts"}, "67 of 200 hosts"},
		{"What disagrees, and what to type?", "", []string{"Now"}, "What the audit finds"},
	} {
		t.Run(task.name, func(t *testing.T) {
			if len(task.clicks) > 3 {
				t.Errorf("it takes %d clicks", len(task.clicks))
			}
			if !strings.Contains(string(document), "| "+task.name+" |") {
				t.Error("the document does not have it")
			}
			p := chromium.Open(t, url, browser.Views()["laptop"])
			p.Wait("200 hosts")
			if task.search != "" {
				p.Type(searchLabel, task.search)
			}
			for _, name := range task.clicks {
				p.Click(name)
			}
			p.Wait(task.want)
			check(t, p, strings.TrimRight(task.name, "?"))
		})
	}
}
