package netns_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/compute/hostlist"
	"github.com/berthcloud/berth/internal/process"
)

// What a user starts in a server with CPUs of its own runs on these from the next listing on, also
// after a restart of the agent, and the control group goes with the server.
func TestProcessesArePinned(t *testing.T) {
	m := newMachine(t)
	if len(strings.Split(hostCPUs(t), ",")) < 2 && !strings.Contains(hostCPUs(t), "-") {
		t.Skip("the machine has one CPU")
	}
	s := m.server()
	s.Assignment = &hostlist.Assignment{Cells: []hostlist.Cell{{VCPUs: []int{0}, CPUs: map[int]int{0: 1}}}}
	m.must(m.driver.Build(t.Context(), s))
	group, err := filepath.Glob("/sys/fs/cgroup/*/berth-servers/" + m.config.Prefix + s.ID)
	if second, _ := filepath.Glob("/sys/fs/cgroup/berth-servers/" + m.config.Prefix + s.ID); len(second) > 0 {
		group = second
	}
	if err != nil || len(group) != 1 {
		t.Skip("this machine has no control groups with the controller cpuset for tests: the driver logs it")
	}
	t.Cleanup(func() { _ = os.Remove(filepath.Dir(group[0])) }) // unless other servers have groups in it
	p, err := process.Start(exec.Command("ip", "netns", "exec", m.config.Prefix+s.ID, "sleep", "1000"))
	m.must(err)
	defer p.Kill()
	allowed := func() string {
		text, err := os.ReadFile(filepath.Join(group[0], "cgroup.procs"))
		m.must(err)
		var all []string
		for pid := range strings.FieldsSeq(string(text)) {
			status, err := os.ReadFile("/proc/" + pid + "/status")
			m.must(err)
			_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
			cpus, _, _ := strings.Cut(rest, "\n")
			all = append(all, strings.TrimSpace(cpus))
		}
		return strings.Join(all, " ")
	}
	for range 200 { // until ip has entered the namespace
		_, err := m.driver.Servers(t.Context())
		m.must(err)
		if allowed() != "" {
			break
		}
	}
	if got := allowed(); got != "1" {
		t.Errorf("what runs in the server may use the CPUs %q, want 1", got)
	}
	s.Assignment.Cells[0].CPUs[0] = 0
	m.must(m.driver.Build(t.Context(), s))
	m.restart()
	if got := allowed(); got != "0" {
		t.Errorf("with another CPU, what runs in the server may use the CPUs %q, want 0", got)
	}
	m.must(m.driver.Destroy(t.Context(), s.ID))
	if _, err := os.Stat(group[0]); !os.IsNotExist(err) {
		t.Errorf("the control group is there after the server: %v", err)
	}
}

// With control groups of version 2 the controller is switched on for those of servers.
func TestControlGroupsOfVersion2(t *testing.T) {
	m := newMachine(t)
	s := m.server()
	m.config.Cgroups = t.TempDir()
	own := filepath.Join("berth-servers", m.config.Prefix+s.ID)
	m.must(os.MkdirAll(filepath.Join(m.config.Cgroups, own), 0o755))
	files := []string{
		"cgroup.subtree_control", "berth-servers/cgroup.subtree_control", own + "/cpuset.cpus", own + "/cpuset.mems",
	}
	for _, name := range files {
		m.must(os.WriteFile(filepath.Join(m.config.Cgroups, name), nil, 0o644))
	}
	m.must(os.WriteFile(filepath.Join(m.config.Cgroups, "cgroup.controllers"), []byte("cpuset cpu io\n"), 0o644))
	m.restart()
	s.Assignment = &hostlist.Assignment{Cells: []hostlist.Cell{
		{Node: 1, VCPUs: []int{0, 1}, CPUs: map[int]int{0: 9, 1: 8}, Emulator: []int{10}},
		{Node: 0, VCPUs: []int{2}, Shared: []int{0, 1}},
	}}
	m.must(m.driver.Build(t.Context(), s))
	var got []string
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(m.config.Cgroups, name))
		m.must(err)
		got = append(got, string(text))
	}
	if diff := cmp.Diff([]string{"+cpuset", "+cpuset", "0,1,8,9,10", "0,1"}, got); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
	m.must(os.RemoveAll(filepath.Join(m.config.Cgroups, own))) // which the kernel does with the directory
}

// Without control groups servers are made all the same, and the log says what is not done.
func TestNoControlGroups(t *testing.T) {
	m := newMachine(t)
	var log bytes.Buffer
	m.config.Cgroups, m.config.Log = t.TempDir(), slog.New(slog.NewTextHandler(&log, nil))
	m.restart()
	plain := m.server()
	m.must(m.driver.Build(t.Context(), plain))
	if log.Len() > 0 {
		t.Errorf("a server without CPUs of its own is logged: %s", &log)
	}
	s := m.server()
	s.Assignment = &hostlist.Assignment{Cells: []hostlist.Cell{{VCPUs: []int{0, 1}, CPUs: map[int]int{0: 3, 1: 1}}}}
	m.must(m.driver.Build(t.Context(), s))
	if got := log.String(); !strings.Contains(got, "not kept to the CPUs") || !strings.Contains(got, "cpus=1,3") ||
		!strings.Contains(got, "no control group with the controller cpuset") {
		t.Errorf("the log says %q", got)
	}
}

func hostCPUs(t *testing.T) string {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
