package compute

import (
	"encoding/json"
	"fmt"

	"github.com/berthcloud/berth/compute/extraspecs"
)

// A keptFlavor is a flavor as servers store it: its state when they were created. Its JSON names
// must not change.
type keptFlavor struct {
	Name        string            `json:"name"`
	VCPUs       int64             `json:"vcpus"`
	MemoryMB    int64             `json:"memory_mb"`
	RootGB      int64             `json:"root_gb"`
	EphemeralGB int64             `json:"ephemeral_gb"`
	SwapMB      int64             `json:"swap_mb"`
	Specs       map[string]string `json:"extra_specs,omitempty"`
}

// Keep returns a flavor as a server keeps it.
func (f FlavorRow) Keep() []byte {
	text, err := json.Marshal(keptFlavor{f.Name, f.VCPUs, f.MemoryMB, f.RootGB, f.EphemeralGB, f.SwapMB, f.Specs})
	if err != nil {
		panic("compute: " + err.Error()) // texts and numbers only
	}
	return text
}

// flavor returns the flavor that a server was created with.
func (s ServerRow) flavor() (extraspecs.Flavor, error) {
	var k keptFlavor
	if err := json.Unmarshal(s.Flavor, &k); err != nil {
		return extraspecs.Flavor{}, fmt.Errorf("reading the flavor of server %s: %w", s.ID, err)
	}
	return extraspecs.Flavor(k), nil
}

// VCPUs are those of the server's flavor, 0 when it cannot be read.
func (s *ServerRow) VCPUs() int64 {
	f, _ := s.flavor() // who needs the flavor reports the error
	return f.VCPUs
}

// MemoryMB is that of the server's flavor, 0 when it cannot be read.
func (s *ServerRow) MemoryMB() int64 {
	f, _ := s.flavor()
	return f.MemoryMB
}
