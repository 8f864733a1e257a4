package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/berthcloud/berth/cmd/berth/internal/cli"
	"github.com/berthcloud/berth/internal/clouds"
)

// An exporting is berth exporter, under way.
type exporting struct {
	t    *testing.T
	url  string
	errs *lockedBuffer
}

// export starts berth exporter, and returns when it has read the cloud. It ends with the test, with
// exit code 0.
func export(t *testing.T, variables map[string]string, args ...string) *exporting {
	t.Helper()
	x := &exporting{t: t, errs: new(lockedBuffer)}
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"exporter", "--listen", "127.0.0.1:0"}, args...), cli.Env{
			Stdout: io.Discard, Stderr: x.errs, Environ: environOf(variables),
		})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-code; code != cli.ExitOK {
			t.Errorf("berth exporter exits with %d after an interrupt: %s", code, x.errs)
		}
	})
	address := regexp.MustCompile(`address=(\S+)`)
	for {
		if m := address.FindStringSubmatch(x.errs.String()); m != nil {
			x.url = "http://" + m[1]
			if status, _ := x.get("/readyz"); status == http.StatusOK {
				return x
			}
		}
		select {
		case n := <-code:
			code <- n
			t.Fatalf("berth exporter ended with %d: %s", n, x.errs)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (x *exporting) get(path string) (int, string) {
	x.t.Helper()
	res, err := http.Get(x.url + path)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// metrics scrapes, and lints the names that are Berth's own.
func (x *exporting) metrics() string {
	x.t.Helper()
	status, text := x.get("/metrics")
	if status != http.StatusOK {
		x.t.Fatalf("%d: %s", status, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		x.t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "berth_") {
			x.t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	return text
}

// has reports which lines a text lacks.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, text)
		}
	}
}

const exportedQuery = "resources=VCPU:2,MEMORY_MB:4096,DISK_GB:20"

// slots returns what berth capacity headroom counts of the query.
func slots(t *testing.T, variables map[string]string, args ...string) (n int64) {
	t.Helper()
	_, stdout, stderr := berthIn(t, "", variables,
		append([]string{"capacity", "headroom", "-f", "json", "--query", exportedQuery}, args...)...)
	var count struct {
		Least int64 `json:"least"`
	}
	if err := json.Unmarshal([]byte(stdout), &count); err != nil || count.Least == 0 {
		t.Fatalf("headroom prints %q, %v: %s", stdout, err, stderr)
	}
	return count.Least
}

// From APIs: a placement service alone has no other services, which is said.
func TestExporterReadsAPIs(t *testing.T) {
	variables := servedPlacement(t, nil)
	if err := clouds.Bandwidth(3, 1).Post(t.Context(), variables["OS_ENDPOINT"]); err != nil {
		t.Fatal(err)
	}
	x := export(t, variables, "--query", "medium="+exportedQuery, "--compatible", "os-capacity,openstack-exporter",
		"--requests-per-second", "0")
	text := x.metrics()
	has(t, text, `berth_cloud_source_up{source="placement"} 1`, `berth_cloud_source_up{source="compute"} 0`,
		`berth_cloud_source_up{source="network"} 0`,
		fmt.Sprintf(`berth_cloud_flavor_slots{flavor="medium"} %d`, slots(t, variables)),
		fmt.Sprintf(`openstack_free_capacity_by_flavor_total{flavor_name="medium"} %d`, slots(t, variables)),
		`berth_cloud_host_resource_inventory{host="compute-000000.example.org",`+
			`resource_class="NET_BW_EGR_KILOBIT_PER_SEC"} 150000000`,
		`openstack_placement_resource_total{hostname="compute-000000.example.org:Open vSwitch `+
			`agent:br-ex",resourcetype="NET_BW_EGR_KILOBIT_PER_SEC"} 25000000`,
		"berth_cloud_refreshes_total 1")
	if !strings.Contains(x.errs.String(), "compute: the compute service is not known") ||
		strings.Contains(text, "berth_cloud_hosts{") {
		t.Errorf("of the compute service it says %s\n%s", x.errs, text)
	}
}

// From the database, without APIs.
func TestExporterReadsTheDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "placement.db")
	if err := clouds.Bandwidth(3, 1).Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	connection := "sqlite:///" + file
	x := export(t, nil, "--connection", connection, "--query", "medium="+exportedQuery, "--without-hosts")
	text := x.metrics()
	has(t, text, `berth_cloud_source_up{source="database"} 1`, "berth_cloud_providers 27",
		fmt.Sprintf(`berth_cloud_flavor_slots{flavor="medium"} %d`, slots(t, nil, "--connection", connection)))
	for _, absent := range []string{"berth_cloud_host_", "berth_cloud_requests_total", "berth_cloud_hosts"} {
		if strings.Contains(text, absent) {
			t.Errorf("there is %s", absent)
		}
	}
}

// The placement service has the metrics of its own providers at its operators' listener.
func TestPlacementServesMetricsOfItsCloud(t *testing.T) {
	ops := filepath.Join(t.TempDir(), "ops.sock")
	conf := settings(t, databaseOf("sqlite://"), "[berth]\nmetrics_listen = unix:"+ops)
	r := start(t, t.TempDir(), "placement", "serve", "--config", conf, "--listen", "127.0.0.1:0")
	if err := clouds.Bandwidth(2, 1).Post(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	res, text := call(t, overUnix(ops), "GET", "http://h/metrics/cloud", "")
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", res.StatusCode, text)
	}
	has(t, text, "berth_cloud_providers 18", `berth_cloud_host_resource_inventory{host="compute-000001.example.org",`+
		`resource_class="NET_BW_EGR_KILOBIT_PER_SEC"} 150000000`)
}
