package differential

// An operation is a kind of request, its frequency in each flavour of sequence, and the first
// microversion that has it.
type operation struct {
	make   maker
	since  int
	weight [flavours]int // mixed, candidates, spoiled, plain
}

func operations() []operation {
	return []operation{
		{(*Generator).postProvider, 0, [flavours]int{4, 2, 4, 3}},
		{(*Generator).putProvider, 0, [flavours]int{4, 1, 4, 4}},
		{(*Generator).deleteProvider, 0, [flavours]int{2, 0, 2, 2}},
		{(*Generator).setInventories, 0, [flavours]int{5, 4, 5, 5}},
		{(*Generator).postInventory, 0, [flavours]int{3, 1, 3, 3}},
		{(*Generator).putInventory, 0, [flavours]int{4, 1, 4, 4}},
		{(*Generator).deleteInventories, 0, [flavours]int{2, 1, 2, 2}},
		{(*Generator).setTraits, 6, [flavours]int{4, 4, 4, 4}},
		{(*Generator).deleteTraits, 6, [flavours]int{1, 0, 1, 1}},
		{(*Generator).setAggregates, 1, [flavours]int{4, 3, 4, 4}},
		{(*Generator).writeTrait, 6, [flavours]int{3, 1, 4, 3}},
		{(*Generator).writeClass, 2, [flavours]int{4, 1, 5, 4}},
		{(*Generator).putAllocations, 0, [flavours]int{12, 4, 12, 16}},
		{(*Generator).putOffer, 10, [flavours]int{6, 8, 4, 6}},
		{(*Generator).postAllocations, 13, [flavours]int{6, 1, 6, 8}},
		{(*Generator).deleteAllocations, 0, [flavours]int{3, 1, 2, 4}},
		{(*Generator).reshape, 30, [flavours]int{4, 1, 5, 5}},
		{(*Generator).getProvider, 0, [flavours]int{2, 0, 3, 2}},
		{(*Generator).getPart, 0, [flavours]int{8, 1, 5, 10}},
		{(*Generator).getAllocations, 0, [flavours]int{5, 1, 4, 6}},
		{(*Generator).getRoot, 0, [flavours]int{1, 0, 2, 0}},
		{(*Generator).getClasses, 2, [flavours]int{1, 0, 1, 1}},
		{(*Generator).getTraits, 6, [flavours]int{2, 0, 3, 2}},
		{(*Generator).getUsages, 9, [flavours]int{3, 0, 4, 4}},
		{(*Generator).listProviders, 0, [flavours]int{9, 3, 9, 8}},
		{(*Generator).candidates, 10, [flavours]int{14, 60, 14, 6}},
	}
}

// operation draws one by weight.
func (g *Generator) operation() operation {
	ops := operations()
	total := 0
	for _, op := range ops {
		total += op.weight[g.flavour]
	}
	n := g.rng.IntN(total)
	for _, op := range ops {
		if n -= op.weight[g.flavour]; n < 0 {
			return op
		}
	}
	return ops[0]
}
