package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/bench/proc"
)

// Headers are sent with every request to a placement service: the token for noauth2, and the newest
// microversion that both services have.
var Headers = []string{"X-Auth-Token: admin", "OpenStack-API-Version: placement 1.39"}

// A Server is a running HTTP server.
type Server struct {
	*proc.Process
	Addr string // host:port of the API
	Ops  string // host:port of Berth's second listener
}

// URL returns the address of the API without a trailing slash.
func (s *Server) URL() string { return "http://" + s.Addr }

// await waits until url is answered with 200 and returns how long that took.
func await(p *proc.Process, url string, limit, pause time.Duration) (time.Duration, error) {
	begin := time.Now()
	if err := p.Await(url, limit, pause); err != nil {
		p.Kill()
		return 0, fmt.Errorf("%w:\n%s", err, p.LastWords())
	}
	return time.Since(begin), nil
}

// Settings are those of a service's file, such as placement.conf: section, option, value.
type Settings map[string]map[string]string

// With returns the settings with others added, which count more.
func (s Settings) With(others Settings) Settings {
	all := Settings{}
	for _, layer := range []Settings{s, others} {
		for section, options := range layer {
			if all[section] == nil {
				all[section] = map[string]string{}
			}
			for name, value := range options {
				all[section][name] = value
			}
		}
	}
	return all
}

// write writes the settings as a file placement.conf in dir.
func (s Settings) write(dir string) (path string, err error) {
	var lines []string
	for section, options := range s {
		for name, value := range options {
			// A dollar sign would refer to another option.
			lines = append(lines, "["+section+"]\n"+name+" = "+strings.ReplaceAll(value, "$", "$$"))
		}
	}
	slices.Sort(lines)
	path = filepath.Join(dir, "placement.conf")
	return path, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// basic are the settings of every placement service here.
func basic(database string) Settings {
	return Settings{
		"api":                {"auth_strategy": "noauth2"},
		"placement_database": {"connection": database},
	}
}
