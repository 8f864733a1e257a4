package tc

import (
	"fmt"
	"time"
)

// classes are what a link's ports come to.
type classes struct {
	root  Class
	rest  Class // of packets that no filter takes
	whole bool  // rest belongs to a port
	ports []portClass
}

type portClass struct {
	mac   MAC
	class Class
}

// needed reports whether there is anything to enforce. An interface without guarantees and limits
// is not touched.
func (c classes) needed() bool { return c.whole || len(c.ports) > 0 }

// shape computes the classes:
//
// 1. Invalid ports are corrected or omitted, and reported.
// 2. If the guarantees exceed the link's rate, all are reduced in proportion.
// 3. A guarantee is its class's rate, the limit its ceiling.
// 4. The rest is shared by ports without a guarantee; each gets at least a
// thousandth of the link, by which the sum may exceed the link's rate.
func (l Link) shape() (classes, []Finding) {
	rate := min(l.Rate, maxKbps)
	ports, findings := l.accepted(rate)
	sum, equals := Kbps(0), Kbps(1)
	for _, p := range ports {
		sum += p.Min
		if p.Min == 0 && p.MAC != (MAC{}) {
			equals++
		}
	}
	if sum > rate {
		findings = append(findings, l.oversubscribed(sum, rate))
	}
	share := max((rate-min(sum, rate))/equals, rate/1000, minKbps)

	c := classes{root: newClass(rate, rate), rest: newClass(min(share, rate), rate)}
	c.root.Quantum = maxQuantum // HTB never changes it in a class that has others below it
	for _, p := range ports {
		class := newClass(p.rate(sum, rate, share), p.ceil(rate))
		if p.MAC == (MAC{}) {
			c.rest, c.whole = class, true
			continue
		}
		c.ports = append(c.ports, portClass{p.MAC, class})
	}
	return c, findings
}

// accepted gives the ports that need a class, with rates that make sense.
func (l Link) accepted(rate Kbps) ([]Port, []Finding) {
	var ports []Port
	var findings []Finding
	seen := make(map[MAC]string)
	for _, p := range l.Ports {
		if first, twice := seen[p.MAC]; twice {
			findings = append(findings,
				l.finding(p.Key, Invalid, fmt.Sprintf("port %s has its address too, and is served", first)))
			continue
		}
		fixed, reason := p.fixed(rate)
		if reason != "" {
			findings = append(findings, l.finding(p.Key, Invalid, reason))
		}
		if fixed.Min == 0 && fixed.Max == 0 {
			continue
		}
		if len(ports) == maxPorts {
			findings = append(findings,
				l.finding(p.Key, Invalid, fmt.Sprintf("%d ports have classes already, which is the most", maxPorts)))
			continue
		}
		seen[p.MAC] = p.Key
		ports = append(ports, fixed)
	}
	return ports, findings
}

// fixed gives the port with rates in range, and what was out of it.
func (p Port) fixed(rate Kbps) (fixed Port, reason string) {
	switch {
	case p.Min < 0 || p.Max < 0:
		reason = "a rate is negative, and taken for none"
	case p.Max > 0 && p.Min > p.Max:
		reason = fmt.Sprintf("its guarantee of %d kbit/s is above its limit of %d, which applies", p.Min, p.Max)
	}
	p.Max = min(max(p.Max, 0), maxKbps)
	p.Min = min(max(p.Min, 0), maxKbps)
	if p.Max > 0 {
		p.Min = min(p.Min, p.Max)
		p.Max = min(p.Max, rate)
	}
	return p, reason
}

// rate is that of the port's class, when the link's guarantees have this sum.
func (p Port) rate(sum, link, share Kbps) Kbps {
	r := p.Min
	switch {
	case r == 0:
		r = share
	case sum > link:
		r = scaled(r, sum, link)
	}
	return min(r, p.ceil(link))
}

func (p Port) ceil(link Kbps) Kbps {
	if p.Max == 0 {
		return link
	}
	return p.Max
}

// scaled is what remains of a guarantee of which sum were given and total are
// there.
func scaled(guarantee, sum, total Kbps) Kbps {
	return max(guarantee*total/sum, 1)
}

// The bounds of what newClass computes.
const (
	minKbps     Kbps = 8                                // one kilobyte a second
	superBytes       = 64 << 10                         // the largest packet before segmentation
	idle             = 4 * time.Millisecond             // how long a class may have slept
	maxBurst         = 20 * time.Second                 // of slow classes, for which a packet takes long
	tick             = 64 * time.Nanosecond             // the kernel's unit of bursts
	minQuantum       = 1600                             // bytes: a frame
	maxQuantum       = 60000                            // bytes: more makes HTB complain and others wait
	quantumTime      = time.Millisecond                 // of a class's rate
	byteTime         = Kbps(time.Second) / bytesPerKbps // ns that a byte takes at 1 kbit/s
)

// newClass gives a class of these rates with its bursts and quantum.
func newClass(rate, ceil Kbps) Class {
	quantum := int(rate * bytesPerKbps * Kbps(quantumTime) / Kbps(time.Second))
	return Class{
		Rate:      rate,
		Ceil:      ceil,
		Burst:     burst(rate),
		CeilBurst: burst(ceil),
		Quantum:   min(max(quantum, minQuantum), maxQuantum),
	}
}

// burst is how long a class may send at once: what it could not send while the
// machine was busy elsewhere, and one packet.
func burst(rate Kbps) time.Duration {
	packet := time.Duration(superBytes * byteTime / rate)
	return min(idle+packet, maxBurst).Truncate(tick)
}
