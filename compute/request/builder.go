package request

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/berthcloud/berth/compute/extraspecs"
	"github.com/berthcloud/berth/fault"
	"github.com/berthcloud/berth/placement"
)

// The words of group_policy.
const (
	policyNone    = "none"
	policyIsolate = "isolate"
)

// Classes and traits that are spelled here.
const (
	vcpu, pcpu, memory, disk = "VCPU", "PCPU", "MEMORY_MB", "DISK_GB"
	hyperthreading           = "HW_CPU_HYPERTHREADING"
)

// A builder collects groups.
type builder struct {
	spec       Spec
	settings   Settings
	order      []string // suffixes in order of appearance
	groups     map[string]*group
	policy     string
	pci        map[string]string // aliases of the groups of PCI devices, by suffix
	fromFlavor int               // groups with a suffix that the flavor has
	pinned     bool              // all CPUs are dedicated ones
	numaCells  int               // that have groups
	warnings   []string
}

// A group is one that is being collected.
type group struct {
	resources           map[string]int64
	required, forbidden map[string]bool
	anyOf               [][]string
	placement.RequestGroup
}

func newBuilder(s Spec, settings Settings) *builder {
	return &builder{spec: s, settings: settings, groups: map[string]*group{}, pci: map[string]string{}}
}

// A form is one of a query.
type form int

const (
	asUsual form = iota
	asVCPUs      // policies for CPUs are passed over
	onCells      // CPUs and memory are those of NUMA cells
)

// build collects the groups of a spec in a form. The topology is read for cells only.
func build(s Spec, settings Settings, as form, t extraspecs.NUMA) (*builder, error) {
	b := newBuilder(s, settings)
	b.extraSpecs()
	b.fromFlavor = b.suffixed()
	for _, t := range s.Image.Required() {
		b.group("").required[t] = true
	}
	var err error
	switch as {
	case asUsual:
		err = b.cpus()
	case onCells:
		b.threads(t.CPU)
		err = b.cells(t)
	}
	if err != nil {
		return nil, err
	}
	if err := b.ports(); err != nil {
		return nil, err
	}
	if err := b.pciDevices(); err != nil {
		return nil, err
	}
	b.numbers()
	return b, b.devices()
}

// group returns the group with a suffix, and creates it when it does not exist.
func (b *builder) group(suffix string) *group {
	if g := b.groups[suffix]; g != nil {
		return g
	}
	g := &group{resources: map[string]int64{}, required: map[string]bool{}, forbidden: map[string]bool{}}
	g.Suffix = suffix
	b.groups[suffix] = g
	b.order = append(b.order, suffix)
	return g
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// extraSpecs collects the groups of the flavor's extra specs. It ignores what is malformed, as Nova
// does.
func (b *builder) extraSpecs() {
	for _, key := range slices.Sorted(maps.Keys(b.spec.Flavor.Specs)) {
		v := b.spec.Flavor.Specs[key]
		if key == "group_policy" {
			b.groupPolicy(v)
			continue
		}
		prefix, suffix, item, ok := extraspecs.Split(key)
		switch {
		case !ok:
		case prefix == extraspecs.Resources:
			b.resource(suffix, item, v)
		default:
			b.trait(suffix, item, v)
		}
	}
}

func (b *builder) groupPolicy(v string) {
	if v != policyNone && v != policyIsolate {
		b.warn("Invalid group_policy '%s'. Valid values are 'none' and 'isolate'.", v)
		return
	}
	b.policy = v
}

func (b *builder) resource(suffix, class, v string) {
	g := b.group(suffix)
	n, ok := extraspecs.Integer(v)
	switch {
	case !strings.HasPrefix(class, "CUSTOM_") && !slices.Contains(placement.StandardClasses, class):
		b.warn("Received an invalid ResourceClass '%s' in extra_specs.", class)
	case !ok:
		b.warn("Resource amounts must be nonnegative integers. Received '%s'", v)
	case n.Sign() < 0:
		b.warn("Resource amounts must be nonnegative integers. Received '%s'", n)
	default:
		g.resources[class] = clamp(n)
	}
}

// clamp bounds an amount to what no provider can have.
func clamp(n *big.Int) int64 {
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

func (b *builder) trait(suffix, name, v string) {
	g := b.group(suffix)
	switch v {
	case "required":
		g.required[name] = true
	case "forbidden":
		g.forbidden[name] = true
	default:
		b.warn("Only (required, forbidden) traits are supported. Received '%s'.", v)
	}
}

// cpus collects what policies for CPUs request.
func (b *builder) cpus() error {
	c, err := extraspecs.CPUs(b.spec.Flavor, b.spec.Image)
	if err != nil {
		return err
	}
	b.threads(c)
	if c.Explicit || c.Policy != extraspecs.Dedicated && c.Policy != extraspecs.Mixed {
		return nil
	}
	g := b.group("")
	g.resources[pcpu] = b.spec.Flavor.VCPUs
	if c.Policy == extraspecs.Mixed {
		g.resources[pcpu], g.resources[vcpu] = c.Pinned, b.spec.Flavor.VCPUs-c.Pinned
	}
	if c.Isolate {
		g.resources[pcpu]++
	}
	b.pinned = c.Policy == extraspecs.Dedicated
	return nil
}

// threads collects what the policy for threads requests.
func (b *builder) threads(c extraspecs.CPU) {
	switch {
	case c.ThreadsTrait:
	case c.Threads == "isolate":
		b.group("").forbidden[hyperthreading] = true
	case c.Threads == "require":
		b.group("").required[hyperthreading] = true
	}
}

// ports collects the groups of ports.
func (b *builder) ports() error {
	for _, p := range b.spec.Ports {
		for _, requested := range p.Groups {
			if requested.empty() {
				continue
			}
			if b.groups[requested.ID] != nil {
				return fault.New(fault.Invalid, "RequestGroupSuffixConflict", "Duplicate request group suffix %s.", requested.ID)
			}
			g := b.group(requested.ID)
			maps.Copy(g.resources, requested.Resources)
			for _, t := range requested.Required {
				g.required[t] = true
			}
			if len(requested.AnyOf) > 0 {
				g.anyOf = [][]string{requested.AnyOf}
			}
		}
	}
	return nil
}

// numbers adds the flavor's own amounts, of classes that no group requests.
func (b *builder) numbers() {
	f := b.spec.Flavor
	if !b.requestsClass(vcpu) && !b.requestsClass(pcpu) {
		b.group("").resources[vcpu] = f.VCPUs
	}
	if !b.requestsClass(memory) {
		b.group("").resources[memory] = f.MemoryMB
	}
	gb := f.EphemeralGB + (f.SwapMB+1023)/1024
	if !b.spec.FromVolume {
		gb += f.RootGB
	}
	if gb > 0 && !b.requestsClass(disk) {
		b.group("").resources[disk] = gb
	}
}

// requestsClass reports whether any group requests a class, even with the amount 0.
func (b *builder) requestsClass(class string) bool {
	for _, g := range b.groups {
		if _, ok := g.resources[class]; ok {
			return true
		}
	}
	return false
}

// devices adds what devices of the guest request.
func (b *builder) devices() error {
	f, i, g := b.spec.Flavor, b.spec.Image, b.group("")
	encryption, err := extraspecs.MemoryEncryption(f, i)
	if err != nil {
		return err
	}
	if encryption != "" {
		g.resources["MEM_ENCRYPTION_CONTEXT"] = 1
	}
	if encryption != "" && b.settings.Release.Since(Flamingo) {
		g.required[encryptionTraits[encryption]] = true
	}
	for class, n := range persistentMemory(f.Specs["hw:pmem"]) {
		g.resources[class] = n
	}
	tpm, model, err := extraspecs.TPM(f, i)
	if err != nil {
		return err
	}
	if tpm != "" {
		g.required["COMPUTE_SECURITY_TPM_"+strings.ReplaceAll(tpm, ".", "_")] = true
	}
	if tpm != "" && b.settings.Release.Since(Dalmatian) {
		g.required["COMPUTE_SECURITY_"+strings.ToUpper(strings.ReplaceAll(model, "-", "_"))] = true
	}
	pci, err := extraspecs.PCIPolicy(f, i)
	if err != nil {
		return err
	}
	switch {
	case pci == "socket" && b.settings.NoSocketAffinity:
		return &NoValidHost{Details: []string{
			"the flavor or the image has the PCI NUMA affinity policy socket: no host reports " +
				TraitSocketAffinity + ", that it can keep it",
		}}
	case pci == "socket":
		g.required[TraitSocketAffinity] = true
	}
	secure, err := extraspecs.SecureBoot(f, i)
	if secure {
		g.required["COMPUTE_SECURITY_UEFI_SECURE_BOOT"] = true
	}
	if err != nil {
		return err
	}
	if b.settings.Release.Since(Caracal) {
		mode, err := extraspecs.MaxPhysAddr(f, i)
		if err != nil {
			return err
		}
		if t := addressTraits[mode]; t != "" {
			g.required[t] = true
		}
	}
	if b.settings.Release.Since(Dalmatian) && extraspecs.StatelessFirmware(i) {
		g.required["COMPUTE_SECURITY_STATELESS_FIRMWARE"] = true
	}
	return nil
}

// TraitSocketAffinity is of hosts that can keep the PCI NUMA affinity policy socket.
const TraitSocketAffinity = "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"

// encryptionTraits are the traits of hosts by the feature that encrypts memory.
var encryptionTraits = map[string]string{
	extraspecs.AMDSEV: "HW_CPU_X86_AMD_SEV", extraspecs.AMDSEVES: "HW_CPU_X86_AMD_SEV_ES",
	extraspecs.AMDSEVSNP: "HW_CPU_X86_AMD_SEV_SNP", extraspecs.IntelTDX: "HW_CPU_X86_INTEL_TDX",
}

// addressTraits are the traits of hosts by the way in which the size of the guest's addresses is
// chosen.
var addressTraits = map[string]string{
	"emulate": "COMPUTE_ADDRESS_SPACE_EMULATED", "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
}

// persistentMemory is the number of namespaces by label.
func persistentMemory(labels string) map[string]int64 {
	classes := map[string]int64{}
	for label := range strings.SplitSeq(labels, ",") {
		if label = strings.TrimSpace(label); label != "" {
			classes[normalized("PMEM_NAMESPACE_"+label)]++
		}
	}
	return classes
}

// notInClasses matches what a name of a class cannot have.
var notInClasses = regexp.MustCompile(`[^0-9A-Z]+`)

// normalized returns the custom class of a name (os_resource_classes.normalize_name).
func normalized(name string) string {
	return "CUSTOM_" + notInClasses.ReplaceAllString(strings.ToUpper(name), "_")
}

// required returns the traits that any group requires.
func (b *builder) required() map[string]bool {
	all := map[string]bool{}
	for _, g := range b.groups {
		maps.Copy(all, g.required)
	}
	return all
}

// stripZeros drops classes with the amount 0, and groups without classes.
func (b *builder) stripZeros() {
	for suffix, g := range b.groups {
		maps.DeleteFunc(g.resources, func(_ string, n int64) bool { return n == 0 })
		if len(g.resources)+len(g.required)+len(g.forbidden)+len(g.anyOf) == 0 {
			delete(b.groups, suffix)
		}
	}
	b.order = slices.DeleteFunc(b.order, func(suffix string) bool { return b.groups[suffix] == nil })
}

// suffixed is how many groups have a suffix.
func (b *builder) suffixed() int {
	n := len(b.groups)
	if b.groups[""] != nil {
		n--
	}
	return n
}

// list returns the groups: the one without a suffix, the flavor's by their names, the
// ports' in their order.
func (b *builder) list() []placement.RequestGroup {
	if at := slices.Index(b.order, ""); at > 0 {
		b.order = slices.Insert(slices.Delete(b.order, at, at+1), 0, "")
	}
	all := make([]placement.RequestGroup, len(b.order))
	for i, suffix := range b.order {
		g := b.groups[suffix]
		for _, class := range slices.Sorted(maps.Keys(g.resources)) {
			g.Resources = append(g.Resources, placement.ClassAmount{Class: class, Amount: g.resources[class]})
		}
		for _, t := range slices.Sorted(maps.Keys(g.required)) {
			g.Required = append(g.Required, []string{t})
		}
		g.Required = append(g.Required, g.anyOf...)
		g.Forbidden = slices.Sorted(maps.Keys(g.forbidden))
		all[i] = g.RequestGroup
	}
	return all
}

// subtrees returns which groups of each cell and of each port belong below one provider.
func (b *builder) subtrees() [][]string {
	all := b.cellSubtrees()
	for _, p := range b.spec.Ports {
		existing := slices.DeleteFunc(slices.Clone(p.SameSubtree), func(id string) bool { return b.groups[id] == nil })
		if len(existing) > 0 {
			slices.Sort(existing)
			all = append(all, existing)
		}
	}
	return all
}
