package placementtest

import (
	"strconv"
	"strings"

	"github.com/berthcloud/berth/placement"
)

// inventory adds inventory from a word such as VCPU=16/ratio=4.
func (s *scenario) inventory(p *ProviderBuilder, word string) {
	fields := strings.Split(word, "/")
	class, total, ok := strings.Cut(fields[0], "=")
	if !ok {
		s.fatal("no inventory, trait or aggregate: %q", word)
	}
	p.Inventory(class, s.number(total), func(row *placement.InventoryRow) {
		for _, field := range fields[1:] {
			s.setField(row, field)
		}
	})
}

func (s *scenario) setField(row *placement.InventoryRow, field string) {
	name, value, _ := strings.Cut(field, "=")
	if name == "ratio" {
		ratio, err := strconv.ParseFloat(value, 64)
		if err != nil {
			s.fatal("%v", err)
		}
		row.AllocationRatio = ratio
		return
	}
	fields := map[string]*int64{
		"reserved": &row.Reserved, "max": &row.MaxUnit, "min": &row.MinUnit, "step": &row.StepSize, "used": &row.Used,
	}
	if fields[name] == nil {
		s.fatal("no field of an inventory: %q", name)
	}
	*fields[name] = s.number(value)
}

func (s *scenario) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.fatal("%v", err)
	}
	return n
}

// query reads a question; show are the answers that are wanted besides the
// candidates.
func (s *scenario) query(words []string) (q placement.Query, show []string) {
	for _, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case word == "explain" || word == "summary":
			show = append(show, word)
		case s.option(&q, name, value):
		case assigned:
			s.group(groupOf(&q, name), value)
		default:
			s.group(groupOf(&q, ""), word)
		}
	}
	return q, show
}

// option sets an option of the query, and reports false when there is none of
// that name.
func (s *scenario) option(q *placement.Query, name, value string) bool {
	switch name {
	case "isolate":
		q.Isolate = true
	case "flat":
		q.Flat = true
	case "breadth":
		q.BreadthFirst = true
	case "limit":
		q.Limit = int(s.number(value))
	case "max":
		q.Max = int(s.number(value))
	case "sample":
		q.Sample = &placement.Sample{Seed: uint64(s.number(value))}
	case "same_subtree":
		q.SameSubtrees = append(q.SameSubtrees, strings.Split(value, ","))
	case "root":
		for _, trait := range strings.Split(value, ",") {
			if t, ok := strings.CutPrefix(trait, "!"); ok {
				q.RootForbidden = append(q.RootForbidden, t)
			} else {
				q.RootRequired = append(q.RootRequired, trait)
			}
		}
	default:
		return false
	}
	return true
}

// groupOf returns the group with the suffix, which it adds when it is new.
func groupOf(q *placement.Query, suffix string) *placement.RequestGroup {
	for i := range q.Groups {
		if q.Groups[i].Suffix == suffix {
			return &q.Groups[i]
		}
	}
	q.Groups = append(q.Groups, placement.RequestGroup{Suffix: suffix})
	return &q.Groups[len(q.Groups)-1]
}

// group reads what stands between commas in a group.
func (s *scenario) group(g *placement.RequestGroup, text string) {
	for _, item := range strings.Split(text, ",") {
		class, amount, resource := strings.Cut(item, ":")
		switch {
		case resource:
			g.Resources = append(g.Resources, placement.ClassAmount{Class: class, Amount: s.number(amount)})
		case strings.HasPrefix(item, "^"):
			g.InTree = placement.UUID(item[1:])
		case strings.HasPrefix(item, "!@"):
			g.NotMemberOf = append(g.NotMemberOf, uuids(item[2:])...)
		case strings.HasPrefix(item, "@"):
			g.MemberOf = append(g.MemberOf, uuids(item[1:]))
		case strings.HasPrefix(item, "!"):
			g.Forbidden = append(g.Forbidden, item[1:])
		default:
			g.Required = append(g.Required, strings.Split(item, "|"))
		}
	}
}

func uuids(text string) []placement.UUID {
	var list []placement.UUID
	for _, name := range strings.Split(text, "|") {
		list = append(list, placement.UUID(name))
	}
	return list
}
