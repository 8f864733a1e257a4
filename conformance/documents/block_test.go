package documents

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A block is lines that a document sets as code, of one kind.
type block struct {
	page string // below the root of the repository
	kind string // "" when it is unknown
	text string
}

// The kinds of blocks that a test runs or parses.
const (
	shellKind    = "shell"
	settingsKind = "settings"
	unitKind     = "unit"
	haproxyKind  = "haproxy"
	nginxKind    = "nginx"
	yamlKind     = "yaml"
	sqlKind      = "sql"
	jsonKind     = "json"
)

// shown are blocks that can be neither run nor parsed, by their beginning, and why.
var shown = []struct{ page, first, why string }{
	{"README.md", "openstack client, gophercloud", "a drawing"},
	{"README.md", "admin makes network net0", "what make demo prints, which conformance/guide holds to"},
	{"docs/first-steps.md", "apt-get update", "makes a bare Debian fit to build; needs the network"},
	{"docs/first-steps.md", "git clone", "needs the network"},
	{"docs/first-steps.md", "$ ", "what is typed with what is printed, which conformance/guide types"},
	{"docs/operations/moves.md", "$ ", "what is typed with what is printed, which conformance/guide types"},
	{"docs/operations/numa.md", "$ ", "what is typed with what is printed, which conformance/guide types"},
	{"docs/operations/namespaces.md", "$ ", "what is typed with what is printed, which conformance/namespaces types"},
	{
		"docs/operations/make-inventories.md", "$ ",
		"what is typed with what is printed, which TestMakeInventories types",
	},
	{"docs/operations/make-inventories.md", "api() {", "the function of the commands that TestMakeInventories types"},
	{
		"docs/operations/heal.md", "$ berth heal",
		"what is printed for records whose ids differ each time; tests of ops/heal and cmd/berth hold to what it says",
	},
	{
		"docs/operations/no-valid-host.md", "$ berth explain",
		"what is printed for ports whose ids differ each time; TestText of placement/explain holds to the form",
	},
	{
		"docs/operations/no-valid-host.md", "$ openstack server show",
		"the fault of such a server; TestNobodyHasRoom of compute holds to the form",
	},
	{
		"docs/operations/doctor.md", "$ berth doctor",
		"what is printed, cut, for ids that differ each time; TestDoctorOfUp of cmd/berth holds to the form",
	},
	{"docs/operations/upgrade-check.md", "$ berth upgrade-check", "what is printed, cut, for a cloud of 2024.1; " +
		"TestUpgradeCheckOfReleases of cmd/berth/internal/operators holds to the results"},
	{
		"docs/operations/headroom.md", "$ berth capacity headroom",
		"what is printed for a cloud with servers; TestExplainInACloud of cmd/berth holds to the form",
	},
	{
		"docs/operations/drain-a-host.md", "$ berth capacity drain",
		"what is printed for a cloud with servers; TestCapacity of cmd/berth holds to the form",
	},
	{
		"README.md", "error: orphaned-allocation",
		"what berth audit prints about a planted fault; TestAudit of cmd/berth holds to the form",
	},
	{
		"docs/operations/operators-tools.md", "$ ",
		"what is typed with what is printed for ids that differ each time; cmd/berth holds to the forms",
	},
	{
		"docs/operations/bandwidth-is-leaking.md", "$ ",
		"what is typed with what is printed for planted faults; ops/audit holds to the findings, cmd/berth to the forms",
	},
	{"docs/operations/after-a-restore.md", "$ ", "what is typed with what is printed after a restore; " +
		"TestDatabasesOfDifferentAge holds to the table, cmd/berth to the forms"},
	{"docs/operations/a-host-died.md", "$ ", "what is typed with what is printed for ids that differ each time; " +
		"conformance/guide types it for a host that is forced down, TestEvacuation of compute kills one"},
	{
		"docs/operations/decommission-a-host.md", "$ ",
		"what is typed with what is printed for ids that differ each time; TestDeleteService of compute/fleet holds to it",
	},
	{
		"docs/operations/stuck-server.md", "$ berth",
		"what is printed for ids that differ each time; TestUnderway of cmd/berth holds to the form",
	},
	{
		"docs/operations/watch.md", "$ berth watch",
		"what is printed for ids that differ each time; TestWatch of cmd/berth holds to the form",
	},
	{
		"docs/operations/watch.md", "$ openstack server event list",
		"what is printed for ids that differ each time; TestWatchNamesTheRequestOfABoot of cmd/berth holds to it",
	},
	{
		"docs/operations/watch.md", "note: querying",
		"what is printed while a service is restarted; TestEventsSayWhatIsLost of httpapi/placementapi holds to it",
	},
	{
		"docs/operations/reshape.md", "$ ",
		"what is typed with what is printed, for ids of one cloud; conformance/operators types it",
	},
	{"docs/decisions/0004-view-and-update.md", "View(ctx", "Go"},
	{"docs/decisions/0017-network-slice.md", "daemon    ─►", "a drawing"},
	{"docs/decisions/0021-compute-slice.md", "daemon    ─►", "a drawing"},
	{"docs/decisions/0028-layers-of-the-store.md", "dbtool ──►", "a drawing"},
	{"docs/decisions/0029-placement-in-three.md", "placement ◄──", "a drawing"},
	{"docs/decisions/0041-compute-in-parts.md", "httpapi/computeapi    daemon", "a drawing"},
	{"docs/decisions/0041-compute-in-parts.md", "kinds: the list of steps", "a drawing"},
	{"docs/decisions/0042-one-planner-of-provider-trees.md", "actual tree", "a drawing"},
	{"docs/decisions/0045-network-in-parts.md", "httpapi/networkapi    daemon", "a drawing"},
	{"docs/decisions/0043-wires-share-a-kit.md", "computeapi ─►", "a drawing"},
	{"docs/decisions/0047-exporter.md", "APIs ──", "a drawing"},
	{"docs/decisions/0050-reshapes-of-hosts.md", "tree ───", "a drawing"},
	{"docs/decisions/0054-numa-nodes.md", "compute1", "a drawing of a tree"},
	{"docs/decisions/0054-numa-nodes.md", "resources_PROCn", "a pattern of parameters, which compute/request tests"},
	{"docs/operations/README.md", "2026-11-20 12:00:00.123", "a line of the log"},
	{"docs/operations/database-tools.md", "$ berth db version", "a command with what it prints"},
	{"docs/operations/database-tools.md", `{"format":`, "a dump, which is cut"},
	{"docs/operations/observability.md", "grep req-7f6e6d0c", "a command with what it prints"},
	{
		"docs/operations/serving.md", "/var/log/berth/*.log {",
		"logrotate, which is not among the tests' packages; the file of the package is held to by conformance/packaging",
	},
	{"docs/operations/upgrade.md", "its compute tables are of version", "an error, which sqlstore holds to"},
	{"docs/operations/upgrade.md", "its berth_ tables are of version", "an error, which sqlstore holds to"},
}

// documents returns the names of all documents, from the root of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// blocks returns the blocks of README.md and of all documents below docs.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	for _, name := range documents(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") {
			continue // for developers: drawings and commands of make
		}
		for _, lines := range (page{name, read(t, filepath.Join(root, name))}).blocks() {
			all = append(all, kinds(name, lines)...)
		}
	}
	return all
}

// blocks returns the lines of each block, indented and fenced ones.
func (p page) blocks() (all [][]string) {
	var block []string
	fenced, end := false, func() {
		for len(block) > 0 && block[len(block)-1] == "" {
			block = block[:len(block)-1]
		}
		if len(block) > 0 {
			all = append(all, block)
		}
		block = nil
	}
	for line := range strings.SplitSeq(p.text, "\n") {
		switch code, indented := strings.CutPrefix(line, "    "); {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			end()
			fenced = !fenced
		case fenced:
			block = append(block, line)
		case indented:
			block = append(block, code)
		case line == "" && block != nil:
			block = append(block, "")
		default:
			end()
		}
	}
	end()
	return all
}

// kinds cuts a block at its empty lines into blocks of one kind each.
func kinds(page string, lines []string) (all []block) {
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	for i, line := range lines {
		lines[i] = line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):]
	}
	for part := range strings.SplitSeq(strings.Join(lines, "\n"), "\n\n") {
		b := block{page, kindOf(part), part}
		if last := len(all) - 1; last >= 0 && (all[last].kind == b.kind || b.kind == "") {
			all[last].text += "\n\n" + part
		} else {
			all = append(all, b)
		}
	}
	return all
}

// The beginnings of lines, other than comments, that identify kinds.
var beginnings = []struct {
	kind  string
	first *regexp.Regexp
}{
	{unitKind, regexp.MustCompile(`^\[(Unit|Service|Socket|Install)\]$`)},
	{settingsKind, regexp.MustCompile(`^\[[\w-]+\]$`)},
	{haproxyKind, regexp.MustCompile(`^(defaults$|(frontend|backend|listen) \w+$)`)},
	{nginxKind, regexp.MustCompile(`^(upstream \w+|server) \{$`)},
	{yamlKind, regexp.MustCompile(`^\w+:$`)},
	{sqlKind, regexp.MustCompile(`^(GRANT|CREATE|SELECT|INSERT|UPDATE|DELETE) `)},
	{jsonKind, regexp.MustCompile(`^\{"`)},
}

func kindOf(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, b := range beginnings {
			if b.first.MatchString(line) {
				return b.kind
			}
		}
		if words := commandsOf(line); len(words) > 0 && (ran[words[0]] != "" || notRun[words[0]] != "") {
			return shellKind
		}
		return ""
	}
	return ""
}

// isShown reports whether a block is listed in shown.
func (b block) isShown() bool {
	return slices.ContainsFunc(shown, func(s struct{ page, first, why string }) bool {
		return s.page == b.page && strings.HasPrefix(b.text, s.first)
	})
}

// TestEveryBlockIsTested requires that each block of the documents is run or parsed according to
// its kind, or listed with a reason why it cannot be.
func TestEveryBlockIsTested(t *testing.T) {
	all := blocks(t)
	for _, b := range all {
		first, _, _ := strings.Cut(b.text, "\n")
		if b.kind == "" && !b.isShown() {
			t.Errorf("%s: nothing runs or parses the block that begins with %q: make it of a kind that is, "+
				"or list it with a reason", b.page, first)
		}
	}
	for _, s := range shown {
		if !slices.ContainsFunc(all, func(b block) bool { return b.page == s.page && strings.HasPrefix(b.text, s.first) }) {
			t.Errorf("%s has no block that begins with %q: take it off the list", s.page, s.first)
		}
		if s.why == "" {
			t.Errorf("%s: the block that begins with %q is listed without a reason", s.page, s.first)
		}
	}
	if len(all) < 100 {
		t.Errorf("the documents have %d blocks only: this test looks for the wrong thing", len(all))
	}
}
