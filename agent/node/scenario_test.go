package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthcloud/berth/agent/node"
	"github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/compute/inventory"
	"github.com/berthcloud/berth/internal/golden"
	"github.com/berthcloud/berth/osloconfig"
)

const hostID = "3b36d91e-bf60-460f-b1f8-3322dee5cdfd"

// A question is what a host has: lines of nova.conf, and these:
//
//	file PATH                 what follows is in a file below the directory of the host
//	link PATH TARGET          a link is there
//	directory PATH            a directory is there
//	disk 100                  GB of the disk; 200 when not given
//	pci ADDRESS 8086:154d [physical] [of ADDRESS] [net NAME] [vdpa]
//	                          a PCI device, maybe a function of another
//	mdev ADDRESS TYPE FREE [MADE …]
//	                          a card with mediated devices
//	cpuflags [FLAG …]         what each CPU can do; the machine is otherwise that of testdata/plain
//	arch aarch64              architecture of the machine; x86_64 when not given
//	report [WORD …]           the answer is the host's report, not the settings, or the
//	                          lines of it that begin with one of the words
//
// A machine has /proc and /sys below the directory "machine", provider files are in
// "provider_config", and compute_id in "state". Without /proc the machine is that of
// testdata/plain. Answers say "DIR" for the directory, and leave blank lines out.
func TestScenarios(t *testing.T) {
	for _, file := range golden.Files(t, "testdata/*.txt") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden.Answer(t, file, func(t *testing.T, question []string) []string { return answer(t, question).answer(t) })
		})
	}
}

// A host is the question, as files.
type host struct {
	dir    string
	report bool
	parts  []string // of the report; none for all
	disk   int64
	arch   string
	flags  []string // of the CPUs; nil: those of the files
}

func answer(t *testing.T, question []string) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), disk: 200, arch: "x86_64"}
	dst := "nova.conf"
	files := map[string]string{"nova.conf": "", "state/compute_id": hostID + "\n"}
	for _, line := range question {
		words := strings.Fields(line)
		switch {
		case words[0] == "report":
			h.report, h.parts = true, words[1:]
		case words[0] == "file":
			dst = words[1]
			files[dst] = ""
		case words[0] == "link":
			h.make(t, filepath.Dir(words[1]))
			if err := os.Symlink(words[2], filepath.Join(h.dir, words[1])); err != nil {
				t.Fatal(err)
			}
		case words[0] == "pci":
			h.pci(t, words[1], words[2], words[3:])
		case words[0] == "mdev":
			dir := "machine/sys/class/mdev_bus/" + words[1] + "/mdev_supported_types/" + words[2]
			h.write(t, dir+"/available_instances", words[3]+"\n")
			for _, created := range words[4:] {
				h.make(t, dir+"/devices/"+created)
			}
		case words[0] == "directory":
			h.make(t, words[1])
		case words[0] == "cpuflags":
			h.flags = words[1:]
		case words[0] == "arch":
			h.arch = words[1]
		case words[0] == "disk":
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			h.disk = n
		default:
			files[dst] += strings.ReplaceAll(line, "DIR", h.dir) + "\n"
		}
	}
	for path, text := range files {
		h.write(t, path, text)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "machine/proc")); errors.Is(err, fs.ErrNotExist) {
		h.make(t, "machine")
		for _, part := range []string{"proc", "sys/devices"} {
			if err := os.CopyFS(filepath.Join(h.dir, "machine", part),
				os.DirFS(filepath.Join("testdata/plain", part))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h.flags != nil {
		h.setFlags(t)
	}
	return h
}

// setFlags makes all CPUs have the flags.
func (h *host) setFlags(t *testing.T) {
	t.Helper()
	const file = "machine/proc/cpuinfo"
	var lines []string
	for line := range strings.Lines(golden.Read(t, filepath.Join(h.dir, file))) {
		if strings.HasPrefix(line, "flags") {
			line = "flags : " + strings.Join(h.flags, " ") + "\n"
		}
		lines = append(lines, line)
	}
	h.write(t, file, strings.Join(lines, ""))
}

// pci makes the files of a PCI device.
func (h *host) pci(t *testing.T, address, ids string, words []string) {
	t.Helper()
	const devices = "machine/sys/bus/pci/devices/"
	vendor, product, _ := strings.Cut(ids, ":")
	h.write(t, devices+address+"/vendor", "0x"+vendor+"\n")
	h.write(t, devices+address+"/device", "0x"+product+"\n")
	link := func(path, target string) {
		h.make(t, filepath.Dir(path))
		if err := os.Symlink(target, filepath.Join(h.dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	for i, word := range words {
		switch word {
		case "physical":
			h.write(t, devices+address+"/sriov_totalvfs", "8\n")
		case "of":
			link(devices+address+"/physfn", "../"+words[i+1])
		case "net":
			h.make(t, devices+address+"/net/"+words[i+1])
			link("machine/sys/class/net/"+words[i+1]+"/device", "../../../"+address)
		case "vdpa":
			h.make(t, devices+address+"/vdpa0")
		}
	}
}

func (h *host) make(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (h *host) write(t *testing.T, path, text string) {
	t.Helper()
	h.make(t, filepath.Dir(path))
	if err := os.WriteFile(filepath.Join(h.dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *host) load() (*node.Settings, []string, error) {
	env := map[string]string{
		"OS_DEFAULT__STATE_PATH":               filepath.Join(h.dir, "state"),
		"OS_DEFAULT__MY_IP":                    "192.0.2.1",
		"OS_COMPUTE__PROVIDER_CONFIG_LOCATION": filepath.Join(h.dir, "provider_config"),
	}
	return node.Load(osloconfig.Sources{
		Files:     []string{filepath.Join(h.dir, "nova.conf")},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, settings.Names{Host: "cn1", Canonical: "cn1.example.org"})
}

func (h *host) machine() node.Machine {
	return node.Machine{
		Root: filepath.Join(h.dir, "machine"), Arch: h.arch,
		Disk: func(string) (int64, error) { return h.disk << 30, nil },
	}
}

func (h *host) answer(t *testing.T) (lines []string) {
	t.Helper()
	s, warnings, err := h.load()
	for _, w := range warnings {
		lines = append(lines, "warning "+w)
	}
	switch {
	case err != nil:
		lines = append(lines, "error "+strings.ReplaceAll(err.Error(), "\n", "\nerror "))
	case h.report:
		lines = append(lines, slices.DeleteFunc(h.reported(s), h.leftOut)...)
	default:
		lines = append(lines, h.differences(t, s)...)
	}
	if len(lines) == 0 {
		lines = []string{"nothing"}
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), h.dir, "DIR")
	return strings.Split(text, "\n")
}

// differences is what differs from the settings of an empty file.
func (h *host) differences(t *testing.T, s *node.Settings) (lines []string) {
	t.Helper()
	empty := &host{dir: h.dir}
	h.write(t, "nova.conf", "")
	plain, _, err := empty.load()
	if err != nil {
		t.Fatal(err)
	}
	lines = node.Changes(plain, s)
	for _, name := range s.Ignored {
		lines = append(lines, "ignored "+name)
	}
	return lines
}

// leftOut says that a line of a report is not wanted.
func (h *host) leftOut(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return len(h.parts) > 0 && word != "error" && word != "warning" && !slices.Contains(h.parts, word)
}

func (h *host) reported(s *node.Settings) (lines []string) {
	r, err := s.Report(h.machine())
	if err != nil {
		return []string{"error " + strings.ReplaceAll(err.Error(), "\n", "\nerror ")}
	}
	lines = append(lines, fmt.Sprintf("%s %s, %s %d at %s", r.Host.ID, r.Host.Name, r.Type, r.Version, r.Address))
	for _, a := range []struct {
		class string
		inventory.Amount
	}{{"VCPU", r.Host.VCPU}, {"PCPU", r.Host.PCPU}, {"MEMORY_MB", r.Host.MemoryMB}, {"DISK_GB", r.Host.DiskGB}} {
		lines = append(lines, a.class+" "+shownAmount(a.Amount))
	}
	lines = append(lines, fmt.Sprintf("traits %s", strings.Join(r.Host.Traits, " ")))
	if !r.Host.KnowsCPU {
		lines = append(lines, "does not know the CPU")
	}
	lines = append(lines, "cpu_info "+string(r.CPUInfo))
	for _, d := range r.Host.Devices {
		lines = append(lines, strings.TrimSpace(
			fmt.Sprintf("provider %s %s=%d %s", r.Host.DeviceName(d), d.Class, d.Total, strings.Join(d.Traits, " "))))
	}
	for _, d := range r.Devices {
		text, err := json.Marshal(d)
		if err != nil {
			text = []byte(err.Error())
		}
		lines = append(lines, "device "+string(text))
	}
	for _, a := range r.Host.Additional {
		lines = append(lines, "additional "+shownAdditional(a))
	}
	for _, w := range r.Warnings {
		lines = append(lines, "warning "+w)
	}
	return lines
}

func shownAmount(a inventory.Amount) string {
	text := fmt.Sprintf("%d, reserved %d, ", a.Total, a.Reserved)
	if a.Ratio != nil {
		return text + fmt.Sprintf("ratio %v", *a.Ratio)
	}
	return text + fmt.Sprintf("ratio %v at first", a.Initial)
}

func shownAdditional(a inventory.Additional) string {
	text := a.File + ": " + string(a.ID) + a.Name
	for _, class := range slices.Sorted(maps.Keys(a.Inventories)) {
		text += fmt.Sprintf(" %s=%d", class, a.Inventories[class].Total)
		e := a.Inventories[class]
		for _, f := range []struct {
			name string
			n    *int64
		}{{"reserved", e.Reserved}, {"min_unit", e.MinUnit}, {"max_unit", e.MaxUnit}, {"step_size", e.StepSize}} {
			if f.n != nil {
				text += fmt.Sprintf(":%s=%d", f.name, *f.n)
			}
		}
		if e.AllocationRatio != nil {
			text += fmt.Sprintf(":allocation_ratio=%v", *e.AllocationRatio)
		}
	}
	return strings.TrimSpace(text + " " + strings.Join(a.Traits, " "))
}
