package compute

import (
	"encoding/json"
	"fmt"

	"github.com/berthcloud/berth/compute/extraspecs"
)

// A Viewer is the caller who reads flavors: administrators see all, others those that are public or
// that their project may use.
type Viewer struct {
	Project string
	Admin   bool
}

// NoFlavor returns the fault of a flavor that does not exist, or that the caller may not see.
func NoFlavor(id ID) error { return NotFound("FlavorNotFound", "Flavor %s could not be found.", id) }

// FlavorFor returns a flavor. Fault: FlavorNotFound, also when the viewer may not see it.
func FlavorFor(r Reader, v Viewer, id ID) (FlavorRow, error) {
	row, err := OneOr[FlavorRow](r, NoFlavor(id), Where(ByID, id))
	if err != nil || row.Public || v.Admin {
		return row, err
	}
	may, err := UsableFlavors(r, v.Project)
	if err == nil && !may[id] {
		err = NoFlavor(id)
	}
	return row, err
}

// UsableFlavors returns the flavors that a project has access to.
func UsableFlavors(r Reader, project string) (map[ID]bool, error) {
	rows, err := Rows[FlavorAccessRow](r, Where(ByProject, project))
	may := make(map[ID]bool, len(rows))
	for _, a := range rows {
		may[a.Flavor] = true
	}
	return may, err
}

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

// StoredFlavor returns the flavor that a server was created with.
func (s ServerRow) StoredFlavor() (extraspecs.Flavor, error) {
	var k keptFlavor
	if err := json.Unmarshal(s.Flavor, &k); err != nil {
		return extraspecs.Flavor{}, fmt.Errorf("reading the flavor of server %s: %w", s.ID, err)
	}
	return extraspecs.Flavor(k), nil
}

// VCPUs are those of the server's flavor, 0 when it cannot be read.
func (s *ServerRow) VCPUs() int64 {
	f, _ := s.StoredFlavor() // who needs the flavor reports the error
	return f.VCPUs
}

// MemoryMB is that of the server's flavor, 0 when it cannot be read.
func (s *ServerRow) MemoryMB() int64 {
	f, _ := s.StoredFlavor()
	return f.MemoryMB
}

// ImageProperties returns those properties of the image that a server was created from which are of
// use to Nova; none where they were not kept.
func (s ServerRow) ImageProperties() map[string]string {
	var image extraspecs.Image
	if len(s.ImageMeta) > 0 {
		_ = json.Unmarshal(s.ImageMeta, &image) // who needs the image reports the error
	}
	return image.StandardProperties()
}
