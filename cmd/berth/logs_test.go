package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every line of a service and of the agent has its name and process id, in text and in JSON.
func TestLogsNameServiceAndProcess(t *testing.T) {
	conf := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		rewrite(t, path, text)
		return path
	}
	host := "[ovs]\nbridge_mappings = physnet0:br-physnet0\n[berth]\nnetwork_urls = http://127.0.0.1:1\nenforce = false\n"
	for name, args := range map[string][]string{
		"berth.placement": {
			"placement", "serve", "--listen", "127.0.0.1:0", "--config",
			conf("placement.conf", "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = sqlite://\n"),
		},
		"berth.network": {
			"network", "serve", "--listen", "127.0.0.1:0", "--config",
			conf("neutron.conf", "[DEFAULT]\nauth_strategy = noauth\n[database]\nconnection = sqlite://\n"),
		},
		"berth.compute": {
			"compute", "serve", "--listen", "127.0.0.1:0", "--config",
			conf("nova.conf", "[api]\nauth_strategy = noauth2\n[database]\nconnection = sqlite://\n"),
		},
		"berth.agent": {"agent", "--config", conf("agent.ini", host)},
	} {
		for _, asJSON := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", name, asJSON), func(t *testing.T) {
				more := conf("more.conf", fmt.Sprintf("[DEFAULT]\nuse_json = %t\n", asJSON))
				r := launch(t, []string{"HOME=" + t.TempDir()}, nil, append(args, "--config", more)...)
				for {
					line, err := r.log.ReadString('\n')
					if err != nil {
						t.Fatalf("the log ends: %v", err)
					}
					checkLogLine(t, line, name, r.cmd.Process.Pid, asJSON)
					if strings.Contains(line, "ready") || strings.Contains(line, "agent starts") {
						return
					}
				}
			})
		}
	}
}

func checkLogLine(t *testing.T, line, name string, pid int, asJSON bool) {
	t.Helper()
	if !asJSON {
		if form := fmt.Sprintf(`^\S+ \S+ %d [A-Z]+ %s \[`, pid,
			regexp.QuoteMeta(name)); !regexp.MustCompile(form).MatchString(line) {
			t.Errorf("a line is %q, want one like %s", line, form)
		}
		return
	}
	var got struct {
		Name    string
		Process int
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Name != name || got.Process != pid {
		t.Errorf("a line is %q, want the name %s and the process %d: %v", line, name, pid, err)
	}
}

// Services in one process are distinguished by their names.
func TestUpLogsNameTheService(t *testing.T) {
	r := launch(t, nil, nil, upArgs(t.TempDir())...)
	seen := map[string]bool{}
	form := regexp.MustCompile(fmt.Sprintf(`^\S+ \S+ %d [A-Z]+ (berth\.\S+) \[`, r.cmd.Process.Pid))
	for want := []string{
		"berth.placement", "berth.network", "berth.compute", "berth.identity", "berth.image", "berth.agent",
	}; ; {
		missing := false
		for _, name := range want {
			missing = missing || !seen[name]
		}
		if !missing {
			break
		}
		line, err := r.log.ReadString('\n')
		if m := form.FindStringSubmatch(line); m != nil {
			seen[m[1]] = true
		}
		if err != nil {
			t.Fatalf("the log ends; only %v have lines: %v", seen, err)
		}
	}
	r.stop()
}
