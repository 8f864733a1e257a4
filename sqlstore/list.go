package sqlstore

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// chunk is the longest list of values that is put into one statement.
const chunk = 500

// inList runs fn for the values in sorted order, in chunks, with the marks that
// go between the parentheses of an IN and the values for them. The last value
// is repeated up to the next power of two, so that few different statements are
// prepared.
func inList[T cmp.Ordered](values []T, fn func(marks string, args []any) error) error {
	for part := range slices.Chunk(sorted(values), chunk) {
		args := fill(part, min(powerOfTwo(len(part)), chunk))
		if err := fn(marks(len(args)), args); err != nil {
			return err
		}
	}
	return nil
}

// padded is the only chunk of inList when there is no limit to its length.
func padded[T cmp.Ordered](values []T) []any {
	values = sorted(values)
	return fill(values, powerOfTwo(len(values)))
}

// sorted returns the distinct values in their order.
func sorted[T cmp.Ordered](values []T) []T {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// fill repeats the last value up to a length.
func fill[T any](values []T, size int) []any {
	args := make([]any, size)
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// powerOfTwo is the least that is not below n, 0 for 0.
func powerOfTwo(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// distinct counts the values of a sorted list that is padded with its last one.
func distinct(args []any) int {
	n := len(args)
	for n > 1 && args[n-1] == args[n-2] {
		n--
	}
	return n
}

// listIn collects the rows of a question about many keys: head, the marks and
// tail make the statement.
func listIn[T any, K cmp.Ordered](t *tx, read func(*row) T, head string, keys []K, tail string) ([]T, error) {
	var all []T
	err := inList(keys, func(marks string, args []any) error {
		return t.each(func(one *row) { all = append(all, read(one)) }, head+marks+tail, args...)
	})
	return all, err
}

// execIn runs a statement for many keys and returns how many rows it changed;
// lead are the values before the keys.
func execIn[K cmp.Ordered](t *tx, head string, keys []K, tail string, lead ...any) (int, error) {
	total := 0
	err := inList(keys, func(marks string, args []any) error {
		n, err := t.exec(head+marks+tail, append(slices.Clone(lead), args...)...)
		total += n
		return err
	})
	return total, err
}

// marks returns n question marks.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// tuples returns n parenthesised groups of question marks.
func tuples(n, width int) string {
	one := "(" + marks(width) + ")"
	return strings.Repeat(one+", ", n-1) + one
}
