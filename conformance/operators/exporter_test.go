package operators

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthcloud/berth/internal/server"
	"github.com/berthcloud/berth/internal/servertest"
)

// scrape starts berth exporter with a login, and returns the metrics of its first reading, which
// promtool has checked.
func (s *stack) scrape(t *testing.T, login []string, args ...string) string {
	t.Helper()
	program := server.Berth(t)
	x := servertest.Start(t, "berth exporter", "/readyz", func(addr string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"exporter", "--listen", addr, "--interval", "1h"}, args...)...)
		cmd.Env = s.environment(t, login)
		return cmd
	})
	res, err := http.Get(x.URL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
	}
	if x.Stop(); !strings.Contains(x.Log(), "serving metrics") {
		t.Errorf("berth exporter logs %s", x.Log())
	}
	t.Run("Promtool", func(t *testing.T) {
		tool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("promtool is not installed (Debian: prometheus)")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, tool, "check", "metrics")
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	})
	return string(text)
}

// followed changes servers while berth exporter reads the cloud again and again: it reads those
// that have changed, also when they were deleted.
func (s *stack) followed(t *testing.T) {
	program := server.Berth(t)
	x := servertest.Start(t, "berth exporter", "/readyz", func(addr string) *exec.Cmd {
		cmd := exec.Command(program, "exporter", "--listen", addr, "--interval", "1s")
		cmd.Env = s.environment(t, s.env)
		return cmd
	})
	servers := func(status, n string) {
		t.Helper()
		await(t, "there are "+n+" servers that are "+status, func() bool {
			res, err := http.Get(x.URL() + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return value(string(text), fmt.Sprintf("berth_cloud_servers{status=%q}", status)) == n
		})
	}
	servers("ACTIVE", "3")
	s.action(t, "plain", object{"os-stop": nil})
	servers("SHUTOFF", "1")
	s.action(t, "plain", object{"os-start": nil})
	servers("SHUTOFF", "")
	id := made(t, s.computes, "/servers", "server", object{
		"name": "brief", "flavorRef": "f1", "imageRef": image, "networks": "none",
	})
	servers("ACTIVE", "4")
	s.computes.Must(t, http.StatusNoContent, "DELETE", "/servers/"+id, nil)
	servers("ACTIVE", "3")
}

// value returns the value of a series, "" for one that is not there.
func value(metrics, series string) string {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(metrics)
	if m == nil {
		return ""
	}
	return m[1]
}

// headroom returns what berth capacity headroom counts.
func (s *stack) headroom(t *testing.T, login []string, args ...string) string {
	t.Helper()
	got := s.berth(t, login, append([]string{"capacity", "headroom", "-f", "json"}, args...)...)
	var count struct{ Least int }
	if err := json.Unmarshal([]byte(got.stdout), &count); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	return fmt.Sprint(count.Least)
}

// exported compares the metrics of berth exporter with what the other commands and the services
// say.
func (s *stack) exported(t *testing.T) {
	t.Run("Administrator", func(t *testing.T) {
		got := s.scrape(t, s.env, "--flavor-ports", "golden=small,net0/gold")
		want := map[string]string{
			`berth_cloud_flavor_slots{flavor="small"}`:            s.headroom(t, nil, "--flavor", "small"),
			`berth_cloud_flavor_slots{flavor="golden"}`:           s.headroom(t, nil, "--flavor", "small", "--port", "waiting"),
			`berth_cloud_hosts{status="enabled",state="up"}`:      fmt.Sprint(len(s.hosts)),
			`berth_cloud_servers{status="VERIFY_RESIZE"}`:         "1",
			`berth_cloud_servers{status="ERROR"}`:                 "1",
			`berth_cloud_providers`:                               fmt.Sprint(len(s.providers(t))),
			`berth_cloud_projects_omitted`:                        "0",
			`berth_cloud_unread`:                                  "0",
			`berth_cloud_host_enabled{host="` + s.hosts[0] + `"}`: "1",
			`berth_cloud_host_up{host="` + s.hosts[0] + `"}`:      "1",
			`berth_cloud_aggregate_resource_inventory{aggregate="fast",resource_class="NET_BW_EGR_KILOBIT_PER_SEC"}`: fmt.Sprint(
				3 * bandwidth),
		}
		for _, source := range []string{"placement", "compute", "network", "identity", "quotas"} {
			want[fmt.Sprintf("berth_cloud_source_up{source=%q}", source)] = "1"
		}
		project := fmt.Sprint(s.show(t, "plain")["tenant_id"])
		var quotas struct {
			Set struct{ Cores, Instances int } `json:"quota_set"`
		}
		s.computes.Read(t, "/os-quota-sets/"+project, &quotas)
		expect := func(format, n string) { want[fmt.Sprintf("berth_cloud_project_"+format, project)] = n }
		expect(`quota_limit{project_id=%q,quota="cores"}`, fmt.Sprint(quotas.Set.Cores))
		expect(`quota_limit{project_id=%q,quota="instances"}`, fmt.Sprint(quotas.Set.Instances))
		expect(`quota_used{project_id=%q,quota="instances"}`, "6")
		expect(`info{project_id=%q,project_name="demo",domain_id="default"}`, "1")
		for series, n := range want {
			if v := value(got, series); v != n {
				t.Errorf("%s is %q, want %s", series, v, n)
			}
		}
		if m := regexp.MustCompile(`(?m)^berth_cloud_audit_findings.* [^0]$`).FindString(got); m != "" {
			t.Errorf("in a healthy cloud there is %s", m)
		}
	})
	t.Run("Observer", func(t *testing.T) {
		login := s.people["project-observer"]
		got := s.scrape(t, login, "--query", "one=resources=VCPU:1", "--flavor-ports", "golden=small,net0/gold")
		for series, n := range map[string]string{
			`berth_cloud_source_up{source="placement"}`: "1",
			`berth_cloud_source_up{source="compute"}`:   "0",
			`berth_cloud_source_up{source="network"}`:   "0",
			`berth_cloud_source_up{source="identity"}`:  "0",
			`berth_cloud_source_up{source="quotas"}`:    "1", // of its own project, which is the only one
			`berth_cloud_providers`:                     fmt.Sprint(len(s.providers(t))),
			`berth_cloud_flavor_slots{flavor="one"}`:    s.headroom(t, login, "--query", "resources=VCPU:1"),
		} {
			if v := value(got, series); v != n {
				t.Errorf("%s is %q, want %s", series, v, n)
			}
		}
		for _, absent := range []string{
			"berth_cloud_hosts", "berth_cloud_servers", "berth_cloud_agents", "berth_cloud_project_info",
			"berth_cloud_project_quota_used", `flavor="golden"`, `flavor="small"`,
		} {
			if strings.Contains(got, "\n"+absent) || strings.Contains(got, absent+"}") {
				t.Errorf("there is %s", absent)
			}
		}
		if value(got, "berth_cloud_unread") == "0" {
			t.Error("nothing is said to be unread")
		}
	})
	t.Run("Reader", func(t *testing.T) {
		got := s.scrape(t, s.people["project-reader"])
		for _, source := range []string{"placement", "compute", "network"} {
			if v := value(got, fmt.Sprintf("berth_cloud_source_up{source=%q}", source)); v != "0" {
				t.Errorf("%s is %q for a user who may read nothing", source, v)
			}
		}
		if strings.Contains(got, "berth_cloud_resource_") || strings.Contains(got, "berth_cloud_hosts") {
			t.Errorf("a user who may read nothing gets\n%s", got)
		}
	})
	t.Run("Database", func(t *testing.T) {
		got := s.scrape(t, s.env, "--os-region-name", "RegionOne", "--connection", "@"+file(t, "url", s.database))
		if up, n := value(got, `berth_cloud_source_up{source="database"}`), value(got, "berth_cloud_providers"); up != "1" ||
			n != fmt.Sprint(len(s.providers(t))) {
			t.Errorf("the database is up: %q, with %q providers", up, n)
		}
		want := s.headroom(t, nil, "--flavor", "small")
		if got := value(got, `berth_cloud_flavor_slots{flavor="small"}`); got != want {
			t.Errorf("free slots are %q, want %s", got, want)
		}
	})
}
