package hostlist

// An Assignment is what of a host a server has of its own. It is stored as it is sent to hosts.
type Assignment struct {
	Cells []Cell `json:"cells,omitempty"`
	// PCIDevices are those that the server's flavor requests by aliases. Ports name theirs themselves.
	PCIDevices []PCIDevice      `json:"pci_devices,omitempty"`
	Mdevs      []MediatedDevice `json:"mdevs,omitempty"`
}

// A Cell is a virtual NUMA node of a server, on a NUMA node of its host.
type Cell struct {
	Node  int   `json:"node"`            // of the host
	VCPUs []int `json:"vcpus,omitempty"` // the numbers that the cell's CPUs have in the server, sorted
	// Siblings are the VCPUs, by core of the host, that are pinned to threads of one.
	Siblings [][]int `json:"siblings,omitempty"`
	// CPUs are the CPUs of the host that virtual CPUs are pinned to, by their numbers in the server.
	CPUs map[int]int `json:"cpus,omitempty"`
	// Shared are the CPUs of the host that the cell's other virtual CPUs may run on, sorted.
	Shared []int `json:"shared,omitempty"`
	// Emulator are the CPUs of the host that the hypervisor itself runs on, and Blocked those that
	// no server may use, since they are threads of an isolated core.
	Emulator []int `json:"emulator,omitempty"`
	Blocked  []int `json:"blocked,omitempty"`
	MemoryMB int64 `json:"memory_mb"` // MiB
	PageKB   int64 `json:"page_kb"`   // KiB, the size of its pages; 0 for ordinary ones
}

// A PCIDevice is a PCI device that a server gets as a whole.
type PCIDevice struct {
	Address string `json:"address"`
	Alias   string `json:"alias"` // that requests it
	// Provider is the name that the host reports the device of the resource provider under, without
	// the host's own, and Class the resource class.
	Provider string `json:"device"`
	Class    string `json:"resource_class"`
	// LiveMigratable says that the alias wants devices with which servers move live.
	LiveMigratable bool `json:"live_migratable,omitempty"`
	// OneTimeUse says that no other server gets it afterwards, until an operator offers it again.
	OneTimeUse bool `json:"one_time_use,omitempty"`
}

// A MediatedDevice is a part of a card, a virtual GPU for example.
type MediatedDevice struct {
	UUID string `json:"uuid"`
	Type string `json:"type"` // as the card's driver calls it: "nvidia-35"
	// Provider and Class are as those of a PCIDevice; the provider is the card.
	Provider string `json:"device"`
	Class    string `json:"resource_class"`
}
