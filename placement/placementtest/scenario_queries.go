package placementtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/berthcloud/berth/placement"
	"github.com/berthcloud/berth/placement/candidates"
	"github.com/berthcloud/berth/placement/snapshot"
)

// List returns the candidates of a query as text, in the order of the search.
// Two candidates with the same text are the same to a client.
func List(w *snapshot.Snapshot, q placement.Query) ([]string, error) {
	r, err := candidates.Search(w, q)
	if err != nil {
		return nil, err
	}
	var list []string
	for c := range r.All() {
		list = append(list, Text(w, r, c))
	}
	return list, nil
}

// Text returns a candidate as a line: the providers in the order of their
// names, each with what it gives and the suffixes of the groups it satisfies.
func Text(w *snapshot.Snapshot, r *candidates.Result, c candidates.Candidate) string {
	gives := make(map[string]string)
	for _, u := range c.Uses {
		var amounts []string
		for _, a := range u.Amounts {
			amounts = append(amounts, fmt.Sprintf("%s:%d", w.ClassName(a.Class), a.Amount))
		}
		slices.Sort(amounts)
		gives[u.Provider.Name] = strings.Join(amounts, ",")
	}
	suffixes := make(map[string][]string)
	for i, providers := range c.Mappings {
		for _, p := range providers {
			suffixes[p.Name] = append(suffixes[p.Name], r.Groups()[i])
		}
	}
	var pieces []string
	for name, list := range suffixes {
		pieces = append(pieces, piece(name, gives[name], list))
	}
	slices.Sort(pieces)
	return strings.Join(pieces, " | ")
}

// piece is what Text says of one provider. The unsuffixed group is named only
// where a suffixed one is, too.
func piece(name, gives string, suffixes []string) string {
	slices.Sort(suffixes)
	text := name
	if gives != "" {
		text += " " + gives
	}
	if len(suffixes) == 1 && suffixes[0] == "" {
		return text
	}
	if suffixes[0] == "" {
		suffixes = append([]string{"and"}, suffixes[1:]...)
	}
	return text + " (" + strings.Join(suffixes, " ") + ")"
}

// show writes an answer besides the candidates.
func (s *scenario) show(name string, w *snapshot.Snapshot, q placement.Query) {
	if name == "explain" {
		counts, err := candidates.Count(s.t.Context(), w, q)
		if err != nil {
			s.fatal("%v", err)
		}
		s.showCounts(&counts)
		if len(s.list(s.b, q)) == 0 {
			fmt.Fprintf(&s.out, "constraint %s\n", counts.Constraint())
		}
		return
	}
	r, err := candidates.Search(w, q)
	if err != nil {
		s.fatal("%v", err)
	}
	sum := r.Summary()
	for c := range r.All() {
		sum.Add(c)
	}
	var names []string
	for _, p := range sum.Providers() {
		names = append(names, p.Name)
	}
	fmt.Fprintln(&s.out, strings.Join(append([]string{"summary"}, names...), " "))
}

// showCounts writes what each constraint drops.
func (s *scenario) showCounts(c *candidates.Counts) {
	fmt.Fprintf(&s.out, "%d providers in %d trees\n", c.Providers, c.Trees)
	if c.RootRejected > 0 {
		fmt.Fprintf(&s.out, "root_required drops %d trees\n", c.RootRejected)
	}
	for _, request := range c.Requests {
		subject := request.Class
		if subject == "" {
			subject = "group " + request.Suffix
		}
		fmt.Fprintf(&s.out, "%s: ", subject)
		for _, d := range request.Drops {
			about := ""
			if d.Class != "" {
				about = fmt.Sprintf(" %s:%d", d.Class, d.Amount)
			}
			fmt.Fprintf(&s.out, "%s%s drops %d, ", d.Kind, about, d.Providers)
		}
		fmt.Fprintf(&s.out, "%d remaining\n", request.Providers)
	}
	fmt.Fprintf(&s.out, "%d trees have a provider for every group\n", c.ServeEach)
	if c.LackTraits > 0 {
		fmt.Fprintf(&s.out, "%d of them lack required traits\n", c.LackTraits)
	}
	fmt.Fprintf(&s.out, "%d trees can serve all groups together\n", c.ServeAll)
}

// answerOtherwise puts the same question in ways whose answers follow from the
// first: half as many candidates, breadth first, a shuffle, after the first
// candidate was claimed, and without the provider that it used first.
func (s *scenario) answerOtherwise(line string, q placement.Query, got []string) {
	all := q
	all.Limit, all.Max, all.Sample = 0, 0, nil
	want := s.list(s.b, all)
	if unlimited := q.Limit == 0 && q.Max == 0; unlimited && !cmp.Equal(sortedCopy(got), want) {
		s.t.Errorf("%s: the order changes the candidates:\n%s", line, cmp.Diff(want, sortedCopy(got)))
	}
	s.subset(line+" (as given)", got, want)
	s.requestHalf(line, all, want)
	shuffled := all
	shuffled.Sample = &placement.Sample{Seed: 1}
	if diff := cmp.Diff(want, s.list(s.b, shuffled)); diff != "" {
		s.t.Errorf("%s: a shuffle changes the candidates:\n%s", line, diff)
	}
	if len(want) > 0 {
		s.queryAfterClaim(line, all, want)
		s.queryWithout(line, all, want)
	}
}

// requestHalf checks that a limit gives as many of the candidates, whatever the
// strategy.
func (s *scenario) requestHalf(line string, q placement.Query, want []string) {
	if len(want) < 2 {
		return
	}
	q.Limit = len(want) / 2
	for _, q.BreadthFirst = range []bool{false, true} {
		half := s.list(s.b, q)
		if len(half) != q.Limit {
			s.t.Errorf("%s: %d candidates with limit %d of %d", line, len(half), q.Limit, len(want))
		}
		s.subset(line+" (half)", half, want)
	}
}

// queryAfterClaim claims the first candidate and checks that no candidate comes
// up that was not there before.
func (s *scenario) queryAfterClaim(line string, q placement.Query, want []string) {
	b := s.b.Clone()
	for _, u := range s.first(q).uses {
		b.Use(u.provider, u.class, u.amount)
	}
	s.subset(line+" (after the first was claimed)", s.list(b, q), want)
}

// queryWithout empties the provider that the first candidate uses first, and
// checks that exactly the candidates that use it are absent.
func (s *scenario) queryWithout(line string, q placement.Query, want []string) {
	b := s.b.Clone()
	deleted := s.first(q).uses[0].provider
	b.Empty(deleted)
	rest := slices.DeleteFunc(slices.Clone(want), func(c string) bool {
		return slices.ContainsFunc(strings.Split(c, " | "), func(p string) bool {
			name, gives, _ := strings.Cut(p, " ")
			return name == deleted && strings.Contains(gives, ":")
		})
	})
	if diff := cmp.Diff(rest, s.list(b, q)); len(rest)+len(s.list(b, q)) > 0 && diff != "" {
		s.t.Errorf("%s: without %s:\n%s", line, deleted, diff)
	}
}

// list returns the sorted candidates of a snapshot.
func (s *scenario) list(b *Builder, q placement.Query) []string {
	list, err := List(b.Snapshot(), q)
	if err != nil {
		s.fatal("%v", err)
	}
	slices.Sort(list)
	return list
}

// subset checks that each candidate of some is among all, and comes once.
func (s *scenario) subset(line string, some, all []string) {
	for i, c := range some {
		if !slices.Contains(all, c) {
			s.t.Errorf("%s: unexpected candidate %s", line, c)
		}
		if slices.Contains(some[:i], c) {
			s.t.Errorf("%s: repeated candidate %s", line, c)
		}
	}
}

// taken is what a candidate takes, kept beyond the loop that yields it.
type taken struct{ uses []takenUse }

type takenUse struct {
	provider string
	class    placement.ClassID
	amount   int64
}

// first returns what the first candidate of a query takes.
func (s *scenario) first(q placement.Query) taken {
	r, err := candidates.Search(s.b.Snapshot(), q)
	if err != nil {
		s.fatal("%v", err)
	}
	var first taken
	for c := range r.All() {
		for _, u := range c.Uses {
			for _, a := range u.Amounts {
				first.uses = append(first.uses, takenUse{u.Provider.Name, a.Class, a.Amount})
			}
		}
		break
	}
	return first
}
