package main

import (
	"encoding/json"
	"fmt"

	"github.com/berthcloud/berth/bench/servers"
	"github.com/berthcloud/berth/internal/clouds"
)

// A question is a query for candidates in a cloud; variants differ in amounts.
type question func(w *clouds.Cloud, variant int) string

// limited adds a limit to a question.
func limited(q question, limit string) question {
	return func(w *clouds.Cloud, variant int) string { return q(w, variant) + "&limit=" + limit }
}

// The questions of the table.
var (
	everyHost question = (*clouds.Cloud).Query
	anyZone   question = (*clouds.Cloud).Anywhere
	oneZone   question = (*clouds.Cloud).Zoned
	fullCloud question = (*clouds.Cloud).Full
	noTrait   question = func(w *clouds.Cloud, v int) string { return w.Query(v) + "&required=" + clouds.NobodysTrait }
	noClass   question = func(_ *clouds.Cloud, v int) string {
		return fmt.Sprintf("/allocation_candidates?resources=%s:%d", clouds.NobodysClass, 1+v)
	}
	isolated question = func(_ *clouds.Cloud, v int) string { return clouds.Groups(wideChildren, v, "isolate") }
	together question = func(_ *clouds.Cloud, v int) string { return clouds.Groups(wideChildren, v, "none") }
)

// variants returns the paths of a question that are sent in turn, so that caching answers has no
// effect.
func (q question) variants(w *clouds.Cloud) []string {
	paths := make([]string, clouds.Variants)
	for i := range paths {
		paths[i] = q(w, i)
	}
	return paths
}

// candidates measures GET /allocation_candidates against the canned server, and the memory and
// start-up time that the cloud costs.
type candidates struct {
	cloud    spec
	query    question
	random   bool // with randomize_allocation_candidates
	upstream bool // compare with upstream's service, where it is installed
	small    spec // compare with a smaller cloud, unless it is zero
}

func (c candidates) measure(l *lab) (f figures, err error) {
	if err := c.alone(l, &f); err != nil {
		return f, err
	}
	if c.small != (spec{}) {
		return f, c.nextToSmall(l, &f)
	}
	if c.upstream && !l.alone {
		return f, l.upstream(&f, c.cloud, c.query.variants(l.make(c.cloud)))
	}
	return f, nil
}

// alone measures Berth with one cloud.
func (c candidates) alone(l *lab, f *figures) error {
	berth, ready, err := l.berth(c.cloud, sampling(c.random))
	if err != nil {
		return err
	}
	defer berth.Kill()
	starting, err := berth.CPU()
	if err != nil {
		return err
	}
	w := l.make(c.cloud)
	paths := c.query.variants(w)
	first, err := l.compare(f, berth, paths, paths[:1])
	if err != nil {
		return err
	}
	// A measurement is only valid if the answer is the intended one.
	var answer struct {
		Requests []json.RawMessage `json:"allocation_requests"`
	}
	if err := json.Unmarshal(first, &answer); err != nil {
		return err
	}
	f.add("candidates", float64(len(answer.Requests)), count)
	if err := weigh(f, berth, w); err != nil {
		return err
	}
	f.add("ready after", ready.Seconds(), seconds)
	f.add("cpu until idle", starting.Seconds(), seconds)
	return l.profileReads(berth, paths)
}

// weigh adds the memory of Berth with a cloud, and the share of each provider when there are so
// many that the program itself is negligible.
func weigh(f *figures, berth *servers.Server, w *clouds.Cloud) error {
	memory, err := berth.Memory()
	if err != nil {
		return err
	}
	f.add("memory", float64(memory.Resident)/1e6, megabytes)
	if w.Providers() >= 100_000 {
		f.add("memory a provider", float64(memory.Resident)/float64(w.Providers()), octets)
		f.add("peak a provider", float64(memory.Peak)/float64(w.Providers()), octets)
	}
	return nil
}

// nextToSmall measures the same query in the small cloud and adds the ratio.
func (c candidates) nextToSmall(l *lab, f *figures) error {
	l.row += "-small" // its profile is another one
	var small figures
	if err := (candidates{cloud: c.small, query: c.query, random: c.random}).alone(l, &small); err != nil {
		return err
	}
	f.addSmall(small, "cpu")
	return nil
}

// sampling are Berth's settings for one of the two orders of candidates.
func sampling(random bool) servers.Settings {
	if !random {
		return nil
	}
	return servers.Settings{"placement": {"randomize_allocation_candidates": "true"}}
}
