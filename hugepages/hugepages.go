// Package hugepages has the kernel keep Go's heap on huge pages. Whoever goes from
// one object to the next through a big heap waits for the tables that say where
// its pages are as long as for the memory itself; with pages of 2 MiB there are 512
// times fewer of those entries. It is not for sparing memory, and reserves none.
package hugepages

import "errors"

// ErrUnsupported says that the kernel cannot do it, or is set not to.
var ErrUnsupported = errors.New("hugepages: the kernel does not put memory on huge pages on request")
