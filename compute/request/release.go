package request

import "fmt"

// A Release is a release of Nova, as the number of its first version: 26 for 26.0.0. Queries to
// placement differ between releases. The zero Release is the newest one.
type Release int

// The releases whose queries are known. Each is followed by what its query has that the one before
// does not have.
const (
	Zed       Release = 26 + iota
	Antelope          // 2023.1: PCI devices, where [filter_scheduler] pci_in_placement says so
	Bobcat            // 2023.2
	Caracal           // 2024.1: size of addresses, packed virtqueues
	Dalmatian         // 2024.2: model of the TPM, stateless firmware
	Epoxy             // 2025.1: virtio's sound card
	Flamingo          // 2025.2: feature that encrypts memory
	Gazpacho          // 2026.1: who may read the secret of a TPM
	Hibiscus          // 2026.2: OWNER_NOVA
)

// Newest is the newest release whose queries are known.
const Newest = Hibiscus

// Since reports whether a release is another one or newer.
func (r Release) Since(other Release) bool { return r == 0 || r >= other }

// Releases are the releases whose queries are known, the oldest first.
func Releases() (all []Release) {
	for r := Zed; r <= Newest; r++ {
		all = append(all, r)
	}
	return all
}

// ParseRelease returns the release with a name as [Release.String] has it, and whether there is
// one.
func ParseRelease(name string) (Release, bool) {
	for _, r := range Releases() {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}

// Direct reports whether Nova can be upgraded from one release to another one: to the next one, and
// from the first release of a year to that of the next year
// (nova.objects.service.OLDEST_SUPPORTED_SERVICE_VERSION).
func Direct(from, to Release) bool {
	yearly := from >= Antelope && (from-Antelope)%2 == 0
	return to == from+1 || yearly && to == from+2
}

// String returns the release as OpenStack names it: Zed, 2023.1.
func (r Release) String() string {
	switch {
	case r == 0:
		return Newest.String()
	case r < Antelope:
		return "Zed"
	}
	half := int(r - Antelope)
	return fmt.Sprintf("%d.%d", 2023+half/2, 1+half%2)
}
