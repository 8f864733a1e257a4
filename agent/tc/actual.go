package tc

import "time"

// Actual is the state of a Kernel, by name of interface. It has every interface.
type Actual map[string]Device

// A Device is an interface as it is.
type Device struct {
	Up bool

	// IFB is true of a device that this package created.
	IFB bool

	// Foreign names the root qdisc of another program, such as "htb 1:". It is "" for the kernel's
	// default.
	Foreign string

	// Tree is this package's root qdisc, nil if there is none.
	Tree *Tree

	// Redirect names the device to which this package's filter redirects what the interface
	// receives: "" if there is no such filter, Nowhere if the device does not exist any more, in
	// which case the interface receives nothing at all.
	Redirect string
}

// Nowhere is the target of a redirection whose device does not exist any more.
const Nowhere = "(nowhere)"

// A Minor is the second half of a class's number, "be70:10".
type Minor uint16

// The numbers by which this package's work is known.
const (
	// Major is the handle of its root qdiscs. Everything below one counts as this package's,
	// also what others created.
	Major uint16 = 0xbe70

	// LeafMajor and the class's minor make the handle of a class's own queue.
	LeafMajor uint16 = 0xa000

	// RedirectPref is the priority of the filter in an ingress qdisc that leads
	// packets to an IFB.
	RedirectPref uint16 = 0xbe70

	RootMinor Minor = 1 // the link
	RestMinor Minor = 2 // packets that no filter takes
	PortMinor Minor = 0x10
	LastMinor Minor = 0xfff
)

// maxPorts is how many ports of a link can have a class.
const maxPorts = int(LastMinor - PortMinor + 1)

// A Tree is an HTB qdisc with all below it.
type Tree struct {
	Default Minor // of packets that no filter takes
	Classes map[Minor]Node
	Filters []Filter
}

// A Node is a class and where it hangs.
type Node struct {
	Class
	Parent Minor  // 0 below the qdisc itself
	Leaf   string // kind of its own queue with the handle that is due, "" if there is none
}

// A Class is the HTB parameters of a group of packets.
type Class struct {
	Rate, Ceil       Kbps          // guaranteed, and with what others leave
	Burst, CeilBurst time.Duration // how long it may send at once at these rates: multiples of 64 ns
	Quantum          int           // bytes: what it sends at once when classes share the excess
}

// A Filter leads packets to a class. One with another match than an address has
// the zero MAC.
type Filter struct {
	Pref    uint16 // its priority: the class's minor
	Address Address
	MAC     MAC
	Class   Minor
}

// An Address is one of the two of an Ethernet frame.
type Address string

// The addresses.
const (
	Source      Address = "source"
	Destination Address = "destination"
)
