package placement

// ChecksumSize is how many ids of providers share a Checksum.
const ChecksumSize = 128

// A Checksum sums up the rows of the providers with ids from First up to, not
// including, First+ChecksumSize. Checksums of the same rows are equal; of rows that
// differ they differ, unless the differences cancel each other out.
type Checksum struct {
	First int64
	// Of the providers themselves.
	Providers, Generations, Roots, Parents, NameLengths int64
	Modified                                            int64 // the latest, in seconds since 1970
	// Of their inventories. Ratios are rounded to thousandths.
	Inventories, Classes, Total, Reserved, MinUnit, MaxUnit, StepSize, Ratios int64
	// Of what is allocated, by class.
	Used, UsedByClass int64
	// Of their traits and aggregates.
	Traits, TraitIDs, Aggregates, AggregateIDs int64
}

// ChecksumWeight weighs a class's usage, so that two classes do not cancel out. Weights run from 1
// to 97, so that classes whose ids differ by a multiple of 97 weigh the same. The sum over a
// database stays far from the end of an int64.
func ChecksumWeight(id ClassID) int64 { return int64(id)%97 + 1 }
