package main

import (
	"fmt"
	"regexp"
	"slices"
)

// A row is a line of the table: what is measured, and what it has to reach.
type row struct {
	name  string // for -rows and for programs
	title string // for people
	work  work
	bars  []bar
}

// A work is what is done for a row.
type work interface {
	// measure returns its figures, also with an error: a notRunError when something is not
	// installed.
	measure(l *lab) (figures, error)
}

// table returns the rows. Clouds are smaller by a factor.
func table(smaller int) []row {
	return slices.Concat(
		novaServers(smaller),
		mixedCycles(smaller),
		bothOrders(someCandidates(smaller)),
		bothOrders(manyCombinations()),
		bothOrders(noCandidates(smaller)),
		hugeClouds(smaller),
		claimCycles(smaller),
		fullHosts(),
		[]row{agentCycles(smaller), bootServers(smaller)},
	)
}

// hosts returns a cloud that is smaller by a factor, but large enough to be significant.
func hosts(kind string, n, smaller int) spec { return spec{kind: kind, hosts: max(100, n/smaller)} }

// novaServers are what decides: what Nova requests for one server after the other.
func novaServers(smaller int) []row {
	var rows []row
	for _, c := range []struct {
		kind   string
		faster float64 // times upstream
	}{{"flat", 100}, {"bandwidth", 300}} {
		rows = append(rows, row{
			fmt.Sprintf("nova-%s-mariadb", hosts(c.kind, 1000, smaller)),
			"what Nova requests for one server after the other, MariaDB",
			nova{hosts(c.kind, 1000, smaller)},
			[]bar{atLeast("cycle / upstream", c.faster)},
		})
	}
	return rows
}

// mixedCycles are what decides: searches, claims and releases as clouds make them.
func mixedCycles(smaller int) []row {
	var rows []row
	for _, size := range []spec{
		{kind: "flat", hosts: 1000},
		{kind: "nested", hosts: 1000},
		{kind: "bandwidth", hosts: 1000},
		{kind: "bandwidth", hosts: 100_000},
	} {
		for _, mariaDB := range []bool{false, true} {
			m := mixed{cloud: hosts(size.kind, size.hosts, smaller), mariaDB: mariaDB, upstream: true}
			bars := []bar{atMost("cpu / limits", 3), atMost(fewSearches, 5)}
			if size.hosts > 1000 {
				m.upstream, m.small = false, hosts(size.kind, 1000, smaller)
				bars = append(bars, atMost("cpu / small cloud", 2))
			} else if mariaDB && size.kind == "flat" {
				bars = append(bars, atLeast("cycles / upstream", 100))
			} else if mariaDB && size.kind == "bandwidth" {
				bars = append(bars, atLeast("cycles / upstream", 500))
			}
			name := map[bool]string{false: "sqlite", true: "mariadb"}[mariaDB]
			rows = append(rows, row{
				fmt.Sprintf("mixed-%s-%s", size, name),
				fmt.Sprintf("search, claim, release in turn, %d hosts, 16 clients, %s", size.hosts, name), m, bars,
			})
		}
	}
	return rows
}

// someCandidates are clouds like those of real clouds.
func someCandidates(smaller int) []row {
	return []row{
		{
			"flat-1000", "flat, 1,000 hosts, all in the answer",
			candidates{cloud: hosts("flat", 1000, smaller), query: everyHost, upstream: true},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 1000)},
		},
		{
			"flat-10000-member", "flat, 10,000 hosts, limit=1000, member_of and required, which all meet",
			candidates{cloud: hosts("flat", 10_000, smaller), query: limited(anyZone, "1000"), upstream: true},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 1000)},
		},
		{
			"flat-10000-zone", "flat, 10,000 hosts, limit=1000, member_of and required, which one of eight meets",
			candidates{cloud: hosts("flat", 10_000, smaller), query: limited(oneZone, "1000"), upstream: true},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 1000)}, // upstream is faster the fewer meet it
		},
		{
			"flat-10000-ten", "flat, 10,000 hosts, limit=10",
			candidates{cloud: hosts("flat", 10_000, smaller), query: limited(everyHost, "10"), upstream: true},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 10)},
		},
		{
			"nested-1000", "1,000 trees of 7, same_subtree, no limit",
			candidates{cloud: hosts("nested", 1000, smaller), query: everyHost, upstream: true},
			[]bar{atMost("cpu / canned", 5), exactly("candidates", 3000)},
		},
		{
			"bandwidth-1000", "1,000 trees of 9, compute resources and two ports, limit=1000",
			candidates{cloud: hosts("bandwidth", 1000, smaller), query: limited(everyHost, "1000"), upstream: true},
			[]bar{atMost("cpu / canned", 5), exactly("candidates", 1000)},
		},
	}
}

// manyCombinations are the clouds in which every group fits everywhere.
func manyCombinations() []row {
	wide := spec{kind: "wide", hosts: 1}
	return []row{
		{
			"wide-isolate", "eight groups over eight children, isolate, limit=1000",
			candidates{cloud: wide, query: limited(isolated, "1000")},
			[]bar{atMost("cpu", 2), exactly("candidates", 1000)},
		},
		{
			"wide-none", "eight groups over eight children, none, limit=1000",
			candidates{cloud: wide, query: limited(together, "1000")},
			[]bar{atMost("cpu", 2), exactly("candidates", 1000)},
		},
	}
}

// noCandidates are questions without candidates.
func noCandidates(smaller int) []row {
	cloud := hosts("flat", 10_000, smaller)
	return []row{
		{
			"none-trait", "10,000 hosts, a trait that no host has",
			candidates{cloud: cloud, query: noTrait, upstream: true},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 0)},
		},
		{
			"none-class", "10,000 hosts, a class that no host has",
			candidates{cloud: cloud, query: noClass},
			[]bar{atMost("cpu / canned", 3), exactly("candidates", 0)},
		},
		{
			"none-room", "10,000 hosts, none with enough free capacity",
			candidates{cloud: cloud, query: fullCloud, upstream: true},
			[]bar{atMost("cpu", 1), exactly("candidates", 0)},
		},
	}
}

// hugeClouds are as big as Berth has to be able to.
func hugeClouds(smaller int) []row {
	return []row{{
		"bandwidth-100000", "100,000 trees of 9, compute resources and two ports, limit=1000",
		candidates{
			cloud: hosts("bandwidth", 100_000, smaller), query: limited(everyHost, "1000"),
			small: spec{kind: "bandwidth", hosts: 1000}, // as many as there are answers
		},
		[]bar{
			atMost("cpu / small cloud", 2), atMost("peak a provider", 1200), atMost("ready after", 5),
			exactly("candidates", 1000),
		},
	}}
}

// claimCycles compare claims with the minimal transactions.
func claimCycles(smaller int) []row {
	cloud := hosts("flat", 1000, smaller)
	bars := []bar{atLeast("writes / minimal", 0.6)}
	return []row{
		{"claims-sqlite", "claim cycles, SQLite, 16 clients", cycles{cloud: cloud, clients: 16}, bars},
		{"claims-mariadb-1", "claim cycles, MariaDB, 1 client", cycles{cloud: cloud, mariaDB: true, clients: 1}, bars},
		{"claims-mariadb-16", "claim cycles, MariaDB, 16 clients", cycles{cloud: cloud, mariaDB: true, clients: 16}, bars},
	}
}

// fullHosts are fights for the last units.
func fullHosts() []row {
	bars := []bar{
		exactly("units not in use", 0), exactly("units in use without a claim", 0),
		atMost("p99 / p50", 20), atMost(wasted, 0.1),
	}
	fight := untilFull{clients: 64, hosts: 10, room: 500}
	onMariaDB := fight
	onMariaDB.mariaDB = true
	return []row{
		{"until-full-sqlite", "64 clients, the same ten hosts, until full, SQLite", fight, bars},
		{"until-full-mariadb", "64 clients, the same ten hosts, until full, MariaDB", onMariaDB, bars},
	}
}

// agentCycles are the reads that are not for candidates.
func agentCycles(smaller int) row {
	return row{
		"agent-reads", "periodic reads of a compute agent",
		agentReads{hosts("flat", 1000, smaller)},
		[]bar{atMost("cpu / canned", 3)},
	}
}

// bothOrders returns each row twice: for candidates in order, and for a random
// sample of them, which has to reach the same.
func bothOrders(rows []row) []row {
	var merged []row
	for _, r := range rows {
		c := r.work.(candidates)
		c.random = true
		merged = append(merged, r, row{r.name + "-random", r.title + ", random", c, r.bars})
	}
	return merged
}

// chosen returns the rows whose name matches.
func chosen(rows []row, match *regexp.Regexp) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !match.MatchString(r.name) })
}
