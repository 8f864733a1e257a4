package numa

// Match gives each cell of a server a node of its own that fits it, and returns the indexes of the
// nodes by cell; nil when there are not such nodes. It prefers the first nodes. Fits reports
// whether a node has what a cell needs, which does not depend on the other cells. The search takes
// time in proportion to the nodes times the square of the cells: a server of many cells does not
// delay others (augmenting paths of a bipartite graph).
func Match(cells, nodes int, fits func(cell, node int) bool) []int {
	cellOf := map[int]int{} // by node
	var seek func(cell int, seen map[int]bool) bool
	seek = func(cell int, seen map[int]bool) bool {
		for _, free := range []bool{true, false} { // a free node, or one whose cell fits another
			for node := range nodes {
				other, taken := cellOf[node]
				if taken == free || seen[node] || !fits(cell, node) {
					continue
				}
				seen[node] = true
				if free || seek(other, seen) {
					cellOf[node] = cell
					return true
				}
			}
		}
		return false
	}
	matched := make([]int, cells)
	for cell := range cells {
		if !seek(cell, map[int]bool{}) {
			return nil
		}
	}
	for node, cell := range cellOf {
		matched[cell] = node
	}
	return matched
}
