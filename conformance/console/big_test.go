package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/berthcloud/berth/conformance/browser"
	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// A record is an object of a file of records.
type record = map[string]any

// id is the UUID of the nth object of a kind.
func id(kind, n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", kind, n) }

// writeRecords writes a file of records, as berth records export does, of hosts with nine providers
// each, on every tenth of which a server runs. Hosts are named cn0 and so on; each third has a GPU.
func writeRecords(t testing.TB, hosts int) (file string) {
	t.Helper()
	inventory := func(total int, ratio float64) record {
		return record{
			"total": total, "reserved": 0, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": ratio,
		}
	}
	providers, consumers, servers := []record{}, []record{}, []record{}
	services, hypervisors := []record{}, []record{}
	for n := range hosts {
		name, root := fmt.Sprint("cn", n), id(1, n)
		used := record{"VCPU": n % 257, "MEMORY_MB": 512 * (n % 257)}
		if n%10 == 0 {
			server := id(3, n)
			consumers = append(consumers, record{
				"uuid": server, "consumer_generation": 1, "project_id": id(4, n%50), "user_id": "u",
				"consumer_type": "INSTANCE", "allocations": record{root: used},
			})
			servers = append(servers, record{
				"id": server, "name": fmt.Sprint("vm", n), "status": "ACTIVE", "host": name, "tenant_id": id(4, n%50),
				"created": "2026-01-02T03:04:05Z",
				"flavor":  record{"name": "small", "vcpus": n % 257, "ram": 512 * (n % 257)},
			})
		}
		traits := []string{"HW_CPU_X86_AVX2"}
		if n%3 == 0 {
			traits = append(traits, "HW_GPU_API_VULKAN")
		}
		provider := func(k int, name, parent string, inventories, used record, traits ...string) record {
			p := record{
				"uuid": id(10+k, n), "name": name, "generation": 1, "root_provider_uuid": root, "inventories": inventories,
				"usages": used, "traits": append([]string{}, traits...), "aggregates": []string{},
			}
			if parent != "" {
				p["parent_provider_uuid"] = parent
			}
			return p
		}
		top := provider(0, name, "", record{
			"VCPU": inventory(64, 4), "MEMORY_MB": inventory(131072, 1), "DISK_GB": inventory(4000, 1),
		}, used, traits...)
		top["uuid"] = root
		agent := provider(1, name+":Open vSwitch agent", root, record{}, record{})
		providers = append(providers, top, agent)
		for k := range 7 {
			bridge := fmt.Sprintf("%s:Open vSwitch agent:br-physnet%d", name, k)
			providers = append(providers, provider(2+k, bridge, id(11, n), record{
				"NET_BW_EGR_KILOBIT_PER_SEC": inventory(10000000, 1), "NET_BW_IGR_KILOBIT_PER_SEC": inventory(10000000, 1),
			}, record{}, fmt.Sprint("CUSTOM_PHYSNET_PHYSNET", k)))
		}
		services = append(services, record{
			"id": id(5, n), "binary": "nova-compute", "host": name, "zone": fmt.Sprint("az", n%3), "status": "enabled",
			"state": "up",
		})
		hypervisors = append(hypervisors, record{"id": root, "hypervisor_hostname": name, "host": name})
	}
	if hosts > 0 {
		servers = append(servers, record{
			"id": id(6, 0), "name": "refused", "status": "ERROR", "fault": "No valid host was found.", "tenant_id": id(4, 0),
			"created": "2026-01-02T03:04:06Z", "flavor": record{"name": "huge", "vcpus": 500, "ram": 512},
		})
	}
	text, err := json.Marshal(record{
		"format": "berth cloud records", "version": 1, "source": "a test", "begun": "2026-01-02T03:04:05Z",
		"ended": "2026-01-02T03:04:05Z",
		"placement": record{
			"resource_classes": []string{
				"VCPU", "MEMORY_MB", "DISK_GB", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC",
			},
			"traits":             []string{"COMPUTE_STATUS_DISABLED", "HW_CPU_X86_AVX2", "HW_GPU_API_VULKAN"},
			"resource_providers": providers,
			"consumers":          consumers,
		},
		"compute": record{
			"services": services, "hypervisors": hypervisors, "aggregates": []any{}, "servers": servers, "migrations": []any{},
			"server_groups": []any{},
		},
		"network": record{"agents": []any{}, "ports": []any{}, "networks": []any{}, "policies": []any{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "cloud.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// startConsole starts berth console, and returns the URL with the key.
func startConsole(t testing.TB, args ...string) (url string) {
	t.Helper()
	url, _ = startConsoleFor(t, time.Minute, args...)
	return url
}

// startConsoleFor is startConsole for another time than a minute, after which the console is
// killed.
func startConsoleFor(t testing.TB, limit time.Duration, args ...string) (url string, console *server.Page) {
	t.Helper()
	args = append([]string{"console", "--listen", servertest.FreeAddress(t)}, args...)
	console = server.StartPage(t, limit, args...)
	if !console.Lines.Scan() {
		t.Fatalf("berth console prints no address: %s", console.Log.Tail())
	}
	return console.Lines.Text(), console
}

// TestTenThousandHosts looks at 10,000 hosts with 90,000 providers: the table, sorted and filtered,
// its end, the map, and hosts that a search finds.
func TestTenThousandHosts(t *testing.T) {
	url := startConsole(t, "--from-file", writeRecords(t, 10000))
	p := browser.Start(t).Open(t, url, browser.Views()["laptop"])
	p.Wait("10,000 hosts")
	first := func(what, want string) {
		t.Helper()
		p.Until(`document.querySelector("table.hosts tbody th")?.innerText === ` + fmt.Sprintf("%q", want))
		var rows int
		if p.Eval(`document.querySelectorAll("table.hosts tbody tr").length`, &rows); rows > 100 {
			t.Errorf("%s: there are %d rows in the document", what, rows)
		}
	}
	first("by name", "cn0")
	p.Click("VCPU")
	first("the fullest first", "cn256")
	p.Eval(`scrollTo(0, document.body.scrollHeight)`, nil)
	p.Until(`[...document.querySelectorAll("table.hosts tbody tr")].some((row) => row.ariaRowIndex === "10001")`)
	check(t, p, "end of the table")
	p.Type("Name", "cn777")
	p.Wait("11 of 10,000 hosts")
	first("filtered", "cn7779")

	root, _, _ := strings.Cut(url, "?")
	p.Go(root + "?view=map&second=MEMORY_MB")
	p.Wait("below 60 %")
	p.Until(`document.querySelector("canvas").toDataURL().length > 12000`) // of an empty one: 4 kB
	p.Eval(`document.querySelector("canvas").focus()`, nil)
	p.Press(kb.ArrowRight + kb.ArrowDown)
	p.Until(`/^cn\d+ /.test(document.querySelector(".heat-text").innerText)`)
	check(t, p, "map")

	p.Type(searchLabel, "vulkan")
	p.Wait("3,334 hosts")
	p.Click("trait HW_GPU_API_VULKAN 3,334 hosts")
	p.Wait("3,334 of 10,000 hosts")
	p.Type(searchLabel, "vm120")
	p.Click("server vm120")
	p.Wait("cn120")
	check(t, p, "server")
}

// BenchmarkTenThousandHosts reports how long it takes from the request of the page until 10,000
// hosts are shown, and how many frames a second the table has while it is scrolled.
func BenchmarkTenThousandHosts(b *testing.B) {
	url := startConsole(b, "--from-file", writeRecords(b, 10000))
	chromium := browser.Start(b)
	var shown, frames float64
	for b.Loop() {
		p := chromium.Open(b, url, browser.Views()["laptop"])
		p.Wait("10,000 hosts")
		var result struct{ Shown, Frames float64 }
		p.Eval(`(async () => {
			const shown = performance.getEntriesByName("hosts shown")[0]?.startTime ?? 0;
			const begun = performance.now();
			let frames = 0;
			while (performance.now() - begun < 2000) {
				scrollBy(0, 90);
				await new Promise(requestAnimationFrame);
				frames++;
			}
			return {Shown: shown, Frames: 1000 * frames / (performance.now() - begun)};
		})()`, &result)
		shown += result.Shown
		frames += result.Frames
	}
	b.ReportMetric(shown/float64(b.N), "ms-shown")
	b.ReportMetric(frames/float64(b.N), "frames/s")
}

// BenchmarkOpenPage reports what an open page of 10,000 hosts costs the console while nothing
// changes, in percent of a core, over a minute.
func BenchmarkOpenPage(b *testing.B) {
	url, console := startConsoleFor(b, time.Hour, "--from-file", writeRecords(b, 10000))
	p := browser.Start(b).Open(b, url, browser.Views()["laptop"])
	p.Wait("10,000 hosts")
	p.Until(`performance.now() > 10000`) // what it needs to show the page is not meant
	const span = time.Minute
	var used float64
	for b.Loop() {
		before := ticks(b, console.Pid())
		time.Sleep(span)
		used += float64(ticks(b, console.Pid()) - before)
	}
	const perSecond = 100 // of Linux's USER_HZ
	b.ReportMetric(100*used/perSecond/span.Seconds()/float64(b.N), "%-of-a-core")
}

// ticks returns the processor time of a process, in hundredths of a second.
func ticks(b *testing.B, pid int) int64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	var sum int64
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestEmptyCloud opens the pages of a cloud without anything.
func TestEmptyCloud(t *testing.T) {
	p := browser.Start(t).Open(t, startConsole(t, "--from-file", writeRecords(t, 0)), browser.Views()["telephone"])
	p.Wait("Placement has no resource providers.")
	check(t, p, "hosts")
	for _, page := range []struct{ name, text string }{
		{"Servers", "There are no servers."},
		{"How much?", "Count"},
		{"Why not?", "Explain"},
		{"Now", "Nothing has changed."},
	} {
		p.Click(page.name)
		p.Wait(page.text)
		check(t, p, page.name)
	}
}

// TestOutage has the cloud of berth up end and start again while a page is open.
func TestOutage(t *testing.T) {
	var addresses []string // which remain, as those of a cloud do
	for _, service := range []string{"network", "identity", "image", "compute"} {
		addresses = append(addresses, "--"+service+"-listen", servertest.FreeAddress(t))
	}
	up, dir := server.StartBerthUp(t, addresses...)
	t.Setenv("OS_CLIENT_CONFIG_FILE", dir+"/clouds.yaml")
	t.Setenv("OS_CLOUD", "berth-admin")
	awaitFile(t, dir+"/clouds.yaml")
	p := browser.Start(t).Open(t, startConsole(t, "--interval", "1s"), browser.Views()["laptop"])
	p.Wait("devstack0")
	up.Stop()
	p.Wait("The cloud cannot be read; this is as it was before.")
	p.Wait("devstack0")
	lookViews(t, p, "outage", "")
	up.Restart()
	p.Until(`!document.body.innerText.includes("The cloud cannot be read")`)
}

// awaitFile waits until there is a file, or for a minute.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for tick := range time.Tick(50 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil || tick.After(deadline) {
			return // without it berth console says what is wrong
		}
	}
}
