package differential

import (
	"fmt"
	"sort"
	"strings"
)

// A Difference is one respect in which two answers are not equal.
type Difference struct {
	Field string // "status", "header vary", "title", "body /a/b", …
	A, B  string
}

// String renders the difference for a report.
func (d Difference) String() string {
	return fmt.Sprintf("%s:\n    %s\n    %s", d.Field, d.A, d.B)
}

// Compare lists the differences of two answers to the same request, the most significant first. It
// is empty if a client could not distinguish the answers.
func Compare(a, b Answer) []Difference {
	var out []Difference
	if a.Status != b.Status {
		return []Difference{{"status", oneLine(a), oneLine(b)}}
	}
	out = append(out, compareBodies(a, b)...)
	return append(out, compareHeads(a.Head, b.Head)...)
}

func oneLine(a Answer) string {
	body := a.Text
	if a.JSON != nil {
		body = render(a.JSON)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, clip(body)))
}

func clip(s string) string {
	const most = 600
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func compareHeads(a, b map[string]string) []Difference {
	names := map[string]bool{}
	for n := range a {
		names[n] = true
	}
	for n := range b {
		names[n] = true
	}
	var out []Difference
	for n := range names {
		if a[n] != b[n] {
			out = append(out, Difference{"header " + n, fmt.Sprintf("%q", a[n]), fmt.Sprintf("%q", b[n])})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Field < out[j].Field })
	return out
}

func compareBodies(a, b Answer) []Difference {
	ea, okA := a.problem()
	eb, okB := b.problem()
	if okA && okB {
		return compareProblems(ea, eb)
	}
	if a.JSON == nil && b.JSON == nil {
		if sameWords(a.Text, b.Text) {
			return nil
		}
		return []Difference{{"text", clip(a.Text), clip(b.Text)}}
	}
	return compareValues("body ", a.JSON, b.JSON)
}

// compareProblems compares error documents: the explanation by its words, all
// else exactly.
func compareProblems(a, b map[string]any) []Difference {
	var out []Difference
	detailA, detailB := asString(a["detail"]), asString(b["detail"])
	if !sameWords(detailA, detailB) {
		out = append(out, Difference{"detail", clip(detailA), clip(detailB)})
	}
	rest := func(e map[string]any) map[string]any {
		m := map[string]any{}
		for k, v := range e {
			if k != "detail" {
				m[k] = v
			}
		}
		return m
	}
	return append(out, compareValues("error ", rest(a), rest(b))...)
}

// compareValues walks two settled values and reports each path at which they differ.
func compareValues(path string, a, b any) []Difference {
	ma, okA := a.(map[string]any)
	mb, okB := b.(map[string]any)
	if okA && okB {
		return compareMembers(path, ma, mb)
	}
	la, okA := a.([]any)
	lb, okB := b.([]any)
	if okA && okB && len(la) == len(lb) {
		var out []Difference
		for i := range la {
			out = append(out, compareValues(fmt.Sprintf("%s/%d", path, i), la[i], lb[i])...)
		}
		return out
	}
	if ra, rb := render(a), render(b); ra != rb {
		return []Difference{{path, clip(ra), clip(rb)}}
	}
	return nil
}

func compareMembers(path string, a, b map[string]any) []Difference {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	sorted := make([]string, 0, len(keys))
	for k := range keys {
		sorted = append(sorted, k)
	}
	sort.Strings(sorted)
	var out []Difference
	for _, k := range sorted {
		va, inA := a[k]
		vb, inB := b[k]
		if inA != inB {
			out = append(out, Difference{path + "/" + k, presence(va, inA), presence(vb, inB)})
			continue
		}
		out = append(out, compareValues(path+"/"+k, va, vb)...)
	}
	return out
}

func presence(v any, in bool) string {
	if !in {
		return "(absent)"
	}
	return clip(render(v))
}
