package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/berthcloud/berth/guarantee"
)

// A Level says how bad a Finding is.
type Level int

// The levels. An error keeps guarantees from working; a warning is something
// that is allowed and seldom meant.
const (
	OK Level = iota
	Warning
	Error
)

// String returns the word for the operator.
func (l Level) String() string { return [...]string{"ok", "warning", "error"}[l] }

// A Finding is what Check says about one thing.
type Finding struct {
	Level Level
	About string // the agent, and the device or option, such as "ovs br-ex"
	Text  string // what was found, and what to do
}

// String returns one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Level, f.About, f.Text) }

// Check validates the settings of the agents of one host against the machine and against each
// other. Started is when the running agents were started, zero when they do not run. The findings
// are in the order of the agents, followed by those of several agents.
func Check(m Machine, started time.Time, agents ...*Settings) []Finding {
	c := &checker{machine: m, seen: map[string]Device{}}
	for _, s := range agents {
		c.agent(s, started)
	}
	c.physnets(agents)
	c.shared(agents)
	return c.findings
}

type checker struct {
	machine  Machine
	seen     map[string]Device
	findings []Finding
}

func (c *checker) say(l Level, s *Settings, about, format string, args ...any) {
	name := string(s.Kind)
	if about != "" {
		name += " " + about
	}
	c.findings = append(c.findings, Finding{l, name, fmt.Sprintf(format, args...)})
}

// device reads each device once. A failure is a finding, and the device is not reported as missing
// elsewhere.
func (c *checker) device(s *Settings, name string) (Device, bool) {
	if d, ok := c.seen[name]; ok {
		return d, true
	}
	d, err := c.machine.Device(name)
	if err != nil {
		c.say(Warning, s, name, "cannot be inspected: %s", err)
		return d, false
	}
	c.seen[name] = d
	return d, true
}

func (c *checker) agent(s *Settings, started time.Time) {
	c.files(s, started)
	c.service(s)
	c.inventories(s)
	if len(s.Resources.Devices()) == 0 {
		c.say(Warning, s, "", "no physical network is mapped, so no port with a guarantee is bound here")
	}
	for _, name := range s.Resources.Devices() {
		c.mapped(s, name)
	}
	tunnelled := s.Resources.Tunnelled
	if _, ok := s.Resources.Report.Bandwidths[tunnelled]; ok && !slices.Contains(s.Resources.Devices(), tunnelled) {
		c.promised(s, tunnelled, 0) // over whatever link the routes say
	}
}

func (c *checker) files(s *Settings, started time.Time) {
	for _, f := range s.Files {
		if !started.IsZero() && f.Modified.After(started) {
			c.say(Warning, s, f.Path, "was changed after the agent was started; send it SIGHUP or restart it, unless it "+
				"watches its files")
		}
	}
}

// agentDownTime is the time without a heartbeat after which the network service considers an agent
// dead, by default.
const agentDownTime = 75 * time.Second

func (c *checker) service(s *Settings) {
	switch interval := s.Agent.ReportInterval; {
	case interval == 0:
		c.say(Error, s, "[agent] report_interval", "is 0: the network service never hears of this agent")
	case interval > agentDownTime:
		c.say(Error, s, "[agent] report_interval",
			"is longer than agent_down_time, 75 s by default: the agent counts as dead between heartbeats")
	case interval > agentDownTime/2:
		c.say(Warning, s, "[agent] report_interval",
			"is more than half of agent_down_time, 75 s by default: one lost heartbeat and the agent counts as dead")
	}
	for _, url := range s.Berth.Network.URLs {
		if !strings.HasPrefix(url, "http://") || loopback.MatchString(url) {
			continue
		}
		if s.Berth.Network.Token != "" || s.Berth.Network.TokenFile != "" {
			c.say(Warning, s, "[berth] network_urls", "the token goes to %s unencrypted; use https", url)
		}
		if s.Berth.Network.HostKey != "" || s.Berth.Network.HostKeyFile != "" {
			c.say(Warning, s, "[berth] network_urls", "the host key goes to %s unencrypted; use https", url)
		}
	}
}

var loopback = regexp.MustCompile(`^http://(127\.|localhost(:|/|$)|\[::1\])`)

// physnets finds names that are the same for placement: it has a trait in capitals, with
// underscores for everything else.
func (c *checker) physnets(agents []*Settings) {
	spellings := map[string][]string{}
	for _, s := range agents {
		for name := range s.Resources.Mappings() {
			trait := guarantee.PhysicalNetworkTrait(name)
			spellings[trait] = append(spellings[trait], name)
		}
	}
	for _, trait := range slices.Sorted(maps.Keys(spellings)) {
		names := spellings[trait]
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 1 {
			c.findings = append(c.findings, Finding{
				Warning, "physical networks " + strings.Join(names, ", "),
				"are one and the same to placement, " + trait + "; choose names that differ by more than case and punctuation",
			})
		}
	}
}

// shared finds links whose bandwidth two agents, or two bridges, report.
func (c *checker) shared(agents []*Settings) {
	users := map[string][]user{}
	for _, s := range agents {
		for _, name := range s.Resources.Devices() {
			users[name] = append(users[name], user{s, name, false})
			links := c.links(s, name)
			for _, link := range links {
				users[link] = append(users[link], user{s, name, len(links) > 1})
			}
		}
	}
	for _, link := range slices.Sorted(maps.Keys(users)) {
		if len(users[link]) > 1 {
			c.sharedLink(link, users[link])
		}
	}
}

// A user is a device of an agent through which a link is used.
type user struct {
	settings *Settings
	device   string
	several  bool // the device has other links too
}

// links returns the network cards in a bridge.
func (c *checker) links(s *Settings, bridge string) []string {
	var links []string
	for _, name := range c.seen[bridge].Ports {
		if port, _ := c.device(s, name); port.Physical {
			links = append(links, name)
		}
	}
	return links
}

func (c *checker) sharedLink(link string, users []user) {
	d, _ := c.device(users[0].settings, link)
	var names []string
	var egress, ingress int64
	speed := d.Speed * 1000
	for _, u := range users {
		rate := u.settings.Resources.Report.Bandwidths[u.device]
		egress, ingress = egress+value(rate.Egress), ingress+value(rate.Ingress)
		names = append(names, string(u.settings.Kind)+" "+u.device)
		if u.several {
			speed = 0 // the share of this link is unknown
		}
	}
	f := Finding{OK, strings.Join(names, " and "), "share the link " + link}
	switch most := max(egress, ingress); {
	case speed == 0:
		f.Level, f.Text = Warning, f.Text+"; split its bandwidth between them, since each is a provider of its own"
	case most > speed:
		f.Level, f.Text = Error, f.Text+
			fmt.Sprintf(" and report %d kbit/s together, which has %d; split it between them", most, speed)
	default:
		f.Text += ", which has enough for both"
	}
	c.findings = append(c.findings, f)
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
