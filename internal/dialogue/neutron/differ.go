package neutron

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// PlayBut is Play for a side that answers some requests differently on purpose. The file known has
// these requests, in their order, with the answers of the side. Exactly these must differ, each
// with exactly that answer.
//
// When the side chose more or fewer values in such an answer than the dialogue has, these are named
// <own-id1>, <own-mac1> and so on, so that the names later in the dialogue are unaffected.
func PlayBut(t testing.TB, s Side, path, known string) {
	t.Helper()
	blocks := withRequests(mustRead(t, known))
	answers := newPlayer(t, s).playBut(mustRead(t, path), blocks, func(b block, got string) { compare(t, path, b, got) })
	for i, b := range blocks {
		if i < len(answers) {
			compare(t, known, b, answers[i])
		} else {
			t.Errorf("%s: %s\n%s\nis answered as in %s, or comes in another order", known, b.line, b.body, path)
		}
	}
}

// RecordBut writes the side's answers to the requests in the file known into it.
func RecordBut(t testing.TB, s Side, path, known string) {
	t.Helper()
	d := mustRead(t, known)
	answers := newPlayer(t, s).playBut(mustRead(t, path), withRequests(d), func(block, string) {})
	for i, b := range d.blocks {
		if b.line != "" && len(answers) > 0 {
			d.blocks[i].answer, answers = answers[0], answers[1:]
		}
	}
	d.write(t, known)
}

// playBut plays a dialogue and returns the answers to the requests in known, in their order, where
// they differ from the dialogue's. It calls report for other differences.
func (p *player) playBut(d *dialogue, known []block, report func(block, string)) []string {
	p.t.Helper()
	var answers []string
	for _, b := range d.blocks {
		mark := maps.Clone(p.names.counts)
		got := p.do(b)
		next := len(answers)
		if got == b.answer || next == len(known) || known[next].line != b.line || known[next].body != b.body {
			report(b, got)
			continue
		}
		answers = append(answers, p.names.disown(mark, got, b.answer))
	}
	return answers
}

// withRequests removes blocks with comments only.
func withRequests(d *dialogue) []block {
	return slices.DeleteFunc(slices.Clone(d.blocks), func(b block) bool { return b.line == "" })
}

var givenForm = regexp.MustCompile(`<([a-z]+)(\d+)>`)

// disown settles the names that were assigned in an answer since a mark, for which the file has
// another answer. Values in both answers share their names. Otherwise the values that the service
// chose get names of their own, and the names count on as in the file. It returns the answer with
// the settled names.
func (n *names) disown(mark map[string]int, answer, file string) string {
	want := maps.Clone(mark)
	for _, m := range givenForm.FindAllStringSubmatch(file, -1) {
		i, _ := strconv.Atoi(m[2]) // the form has digits only
		want[m[1]] = max(want[m[1]], i)
	}
	if maps.Equal(want, n.counts) {
		return answer
	}
	for kind, count := range n.counts {
		for i := mark[kind] + 1; i <= count; i++ {
			n.own[kind]++
			name, own := fmt.Sprintf("<%s%d>", kind, i), fmt.Sprintf("<own-%s%d>", kind, n.own[kind])
			n.bind(own, n.values[name])
			delete(n.values, name)
			answer = strings.ReplaceAll(answer, name, own)
		}
	}
	n.counts = want
	return answer
}
