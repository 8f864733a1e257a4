package sqlconn

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Chunk is the longest list of values that is put into one statement.
const Chunk = 500

// InList runs fn for the values in sorted order, in chunks, with the marks that
// go between the parentheses of an IN and the values for them. The last value
// is repeated up to the next power of two, so that few different statements are
// prepared.
func InList[T cmp.Ordered](values []T, fn func(marks string, args []any) error) error {
	for part := range slices.Chunk(sorted(values), Chunk) {
		args := fill(part, min(PowerOfTwo(len(part)), Chunk))
		if err := fn(Marks(len(args)), args); err != nil {
			return err
		}
	}
	return nil
}

// Padded is the only chunk of InList when there is no limit to its length.
func Padded[T cmp.Ordered](values []T) []any {
	values = sorted(values)
	return fill(values, PowerOfTwo(len(values)))
}

// sorted returns the distinct values in their order.
func sorted[T cmp.Ordered](values []T) []T {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// fill repeats the last value up to a length. Repeated values change nothing in an IN, nor do
// repeated conditions joined by OR.
func fill[T any](values []T, size int) []any {
	args := make([]any, size)
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return args
}

// PowerOfTwo is the least that is not below n, 0 for 0.
func PowerOfTwo(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}

// Distinct counts the values of a sorted list that is padded with its last one.
func Distinct(args []any) int {
	n := len(args)
	for n > 1 && args[n-1] == args[n-2] {
		n--
	}
	return n
}

// ListIn collects the rows of a question about many keys: head, the marks and
// tail make the statement.
func ListIn[T any, K cmp.Ordered](t *Tx, read func(*Row) T, head string, keys []K, tail string) ([]T, error) {
	var all []T
	err := InList(keys, func(marks string, args []any) error {
		return t.Each(func(one *Row) { all = append(all, read(one)) }, head+marks+tail, args...)
	})
	return all, err
}

// ExecIn runs a statement for many keys and returns how many rows it changed;
// lead are the values before the keys.
func ExecIn[K cmp.Ordered](t *Tx, head string, keys []K, tail string, lead ...any) (int, error) {
	total := 0
	err := InList(keys, func(marks string, args []any) error {
		n, err := t.Exec(head+marks+tail, append(slices.Clone(lead), args...)...)
		total += n
		return err
	})
	return total, err
}

// Marks returns n question marks. n is at least 1.
func Marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// Tuples returns n parenthesised groups of question marks.
func Tuples(n, width int) string {
	one := "(" + Marks(width) + ")"
	return strings.Repeat(one+", ", n-1) + one
}
