package tc

import "maps"

// within is a Kernel of which only some interfaces are seen.
type within struct {
	Kernel
	names map[string]bool
}

// Within returns the Kernel reduced to some interfaces, and to what was created for those: for
// hosts where several programs set rates, each on interfaces of its own.
func Within(k Kernel, interfaces ...string) Kernel {
	names := map[string]bool{}
	for _, name := range interfaces {
		names[name], names[IFBName(name)] = true, true
	}
	return within{k, names}
}

// Observe implements Kernel.
func (w within) Observe() (Actual, error) {
	all, err := w.Kernel.Observe()
	maps.DeleteFunc(all, func(name string, _ Device) bool { return !w.names[name] })
	return all, err
}
