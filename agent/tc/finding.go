package tc

import (
	"fmt"
	"strings"
)

// A Finding is a requested rate that is not, or not fully, enforced.
type Finding struct {
	Interface string
	Direction Direction
	Port      string // its key, "" if the whole link is meant
	Reason    Reason
	Text      string // one line for the operator
}

// A Reason says what kind of thing is wrong.
type Reason string

// The reasons.
const (
	Invalid        Reason = "invalid"        // the request makes no sense
	Oversubscribed Reason = "oversubscribed" // more is guaranteed than there is
	Foreign        Reason = "foreign"        // another program manages the interface's queues
	Missing        Reason = "missing"        // there is no such interface, or VF
	Degraded       Reason = "degraded"       // enforced, with a lesser means
	Unsupported    Reason = "unsupported"    // nothing here can do it
	Failed         Reason = "failed"         // it did not work, and will be tried again
)

// String gives the finding in one line.
func (f Finding) String() string {
	location := strings.TrimSpace(f.Interface + " " + string(f.Direction))
	if f.Port != "" {
		location += " port " + f.Port
	}
	return fmt.Sprintf("%s: %s: %s", location, f.Reason, f.Text)
}

func (l Link) finding(port string, r Reason, text string) Finding {
	return Finding{Interface: l.Interface, Direction: l.Direction, Port: port, Reason: r, Text: text}
}

func (l Link) oversubscribed(sum, rate Kbps) Finding {
	return l.finding("", Oversubscribed, fmt.Sprintf(
		"%d kbit/s are guaranteed, there are %d: every guarantee is reduced to %.1f %% of its value",
		sum, rate, 100*float64(rate)/float64(sum)))
}

// Check returns what is not enforced on the links, or will not be by the steps of Plan, and why. It
// is pure. Findings of invalid links come first.
func Check(links []Link, actual Actual) []Finding {
	wants, findings := resolve(links)
	for _, w := range wants {
		device := actual[w.device()]
		_, ok := actual[w.Interface]
		switch {
		case !ok:
			findings = append(findings, w.finding("", Missing, "there is no such interface"))
		case !w.possible(actual):
			findings = append(findings, w.finding("", Foreign, fmt.Sprintf(
				"it, or %s, which serves it, is used for something else", w.device())))
		case device.Foreign != "":
			findings = append(findings, w.finding("", Foreign, fmt.Sprintf(
				"%s has the root qdisc %s, which is not touched: remove it to have guarantees here", w.device(), device.Foreign)))
		case plainQueue(device.Tree):
			findings = append(findings, w.finding("", Degraded,
				"this kernel has no fq_codel: the connections of one port share a plain queue"))
		}
	}
	return findings
}

// plainQueue reports whether classes have a simpler queue than requested.
func plainQueue(t *Tree) bool {
	if t == nil {
		return false
	}
	for _, n := range t.Classes {
		if n.Leaf != "" && n.Leaf != FairQueue {
			return true
		}
	}
	return false
}
