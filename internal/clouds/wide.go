package clouds

import (
	"fmt"
	"strings"
)

// Wide returns hosts with the given number of children of one unit each, none of which is in use.
// The query requests the units of eight of them, or of all when there are fewer, from one each.
func Wide(hosts, children int, seed uint64) *Cloud {
	m := newMaker(4, seed, func(n, more int) string {
		return groups(min(children, 8), n, 1+more) + "&group_policy=isolate"
	})
	for n := range hosts {
		root := m.provider(0, host(n))
		m.has(root, "COMPUTE_NODE")
		m.place(n, root)
		for i := range children {
			id := m.provider(root, fmt.Sprintf("%s_gpu%02d", host(n), i))
			m.stocks(id, stock{"PGPU", 1, 0, 1})
		}
	}
	return m.Cloud
}

// Groups returns the path and query of a question for count single units of a Wide cloud, with a
// group policy: isolate or none. Variants differ in the names of the groups.
func Groups(count, variant int, policy string) string {
	return "/allocation_candidates?" + groups(count, variant%Variants, 1) + "&group_policy=" + policy
}

func groups(count, variant, amount int) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("resources_%02d_%d=PGPU:%d", variant, i, amount)
	}
	return strings.Join(all, "&")
}
