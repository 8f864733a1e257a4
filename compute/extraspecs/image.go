package extraspecs

import (
	"slices"
	"strings"

	"github.com/berthcloud/berth/fault"
)

// An Image is what an image requires of its servers.
type Image struct {
	ID         string
	Name       string
	DiskFormat string
	// Properties are Glance's. Nova's former names of some are understood.
	Properties map[string]string
}

// Required returns the traits that the image requires, sorted.
func (i Image) Required() []string {
	var traits []string
	for key, v := range i.Properties {
		if t, ok := strings.CutPrefix(key, "trait:"); ok && v == "required" {
			traits = append(traits, t)
		}
	}
	slices.Sort(traits)
	return traits
}

// Property returns a property in the form that Nova gives it, "" when it is not there.
// What has a form and is not in it is as it is: see Check.
func (i Image) Property(name string) string {
	v, found := i.raw(name)
	if tidy := forms[name].tidy; found && tidy != nil {
		v = tidy(v)
	}
	return v
}

// raw returns a property as the image has it, and whether it is there.
func (i Image) raw(name string) (v string, found bool) {
	if v, found = i.Properties[name]; !found && formerly[name] != "" {
		v, found = i.Properties[formerly[name]]
	}
	return v, found
}

// flag returns a property that is a truth value, and whether it is there. Whatever
// is no word for true is false.
func (i Image) flag(name string) (value, found bool) {
	v, found := i.Properties[name]
	value, _ = Bool(v)
	return value, found
}

// Check returns a fault (Invalid) when a property that is used here has an invalid value.
func (i Image) Check() error {
	for _, name := range formed {
		if name == numaProperties {
			if err := i.checkNUMA(); err != nil {
				return err
			}
			continue
		}
		given, found := i.raw(name)
		if v := i.Property(name); !found || slices.Contains(forms[name].words, v) {
			continue
		} else if !strings.HasSuffix(name, "architecture") {
			return badImage("Field value %s is invalid", v)
		}
		return badImage("Architecture name '%s' is not valid", given)
	}
	return nil
}

// numaProperties stands for the properties about NUMA nodes among those with a form.
const numaProperties = "hw_numa_"

// checkNUMA refuses properties about NUMA nodes that Nova cannot read: numbers, and lists of CPUs.
func (i Image) checkNUMA() error {
	number := func(v string) (int64, error) {
		n, ok := cpuNumber(v)
		if !ok {
			return 0, badImage("invalid literal for int() with base 10: %s", repr(v))
		}
		return n, nil
	}
	if v, found := i.raw("hw_numa_nodes"); found {
		if _, err := number(v); err != nil {
			return err
		}
	}
	if _, err := listed(Flavor{}, i, "numa_cpus", parseCPUs); err != nil {
		return err
	}
	_, err := listed(Flavor{}, i, "numa_mem", number)
	return err
}

func badImage(format string, args ...any) error {
	return fault.New(fault.Invalid, "", "Invalid image metadata. Error: "+format, args...)
}

// formerly are the names that properties had.
var formerly = map[string]string{"hw_architecture": "architecture"}

// A form is what the value of a property may be.
type form struct {
	words []string
	tidy  func(string) string // to the usual spelling; nil: it is as it is
}

// formed are the properties with a form, in the order in which Nova reads them.
var formed = []string{
	"hw_architecture", "hw_emulation_architecture", "hw_cdrom_bus", "hw_cpu_policy", "hw_cpu_thread_policy", "hw_disk_bus",
	"hw_firmware_type", numaProperties, "hw_pci_numa_affinity_policy",
	"hw_video_model", "hw_vif_model", "hw_viommu_model", "hw_tpm_model",
	"hw_tpm_version", "hw_ephemeral_encryption_format", "os_secure_boot", "hw_sound_model", "hw_maxphysaddr_mode",
	"hw_mem_encryption_model",
}

var forms = map[string]form{
	"hw_architecture":                {architectures, architecture},
	"hw_emulation_architecture":      {architectures, architecture},
	"hw_cdrom_bus":                   {words: buses},
	"hw_disk_bus":                    {words: buses},
	"hw_cpu_policy":                  {words: cpuPolicies},
	"hw_cpu_thread_policy":           {words: threadPolicies},
	"hw_ephemeral_encryption_format": {words: encryptionFormats},
	"hw_firmware_type":               {words: []string{"uefi", "bios"}},
	"hw_maxphysaddr_mode":            {words: addressModes},
	"hw_mem_encryption_model":        {words: encryptionModels},
	"hw_pci_numa_affinity_policy":    {words: pciPolicies},
	"hw_sound_model":                 {words: soundModels},
	"hw_tpm_model":                   {words: tpmModels},
	"hw_tpm_version":                 {words: tpmVersions},
	"hw_video_model":                 {words: strings.Fields("cirrus qxl vga vmvga xen virtio gop none bochs")},
	"hw_vif_model": {
		strings.Fields("virtio ne2k_pci pcnet rtl8139 e1000 e1000e netfront spapr-vlan lan9118 sriov vmxnet vmxnet3"),
		vifModel,
	},
	"hw_viommu_model": {words: []string{"intel", "smmuv3", "virtio", "auto"}},
	"os_secure_boot":  {words: bootPolicies},
}

// What extra specs and properties choose from.
var (
	cpuPolicies       = []string{"dedicated", "shared", "mixed"}
	threadPolicies    = []string{"prefer", "isolate", "require"}
	emulatorPolicies  = []string{"share", "isolate"}
	pciPolicies       = []string{"required", "legacy", "preferred", "socket"}
	tpmVersions       = []string{"1.2", "2.0"}
	soundModels       = []string{"sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio"}
	tpmModels         = []string{"tpm-tis", "tpm-crb"}
	addressModes      = []string{"passthrough", "emulate"}
	encryptionModels  = []string{AMDSEV, AMDSEVES, AMDSEVSNP, IntelTDX}
	bootPolicies      = []string{"required", "disabled", "optional"}
	encryptionFormats = []string{"plain", "luks", "luksv2"}
	buses             = strings.Fields("fdc ide sata scsi usb virtio xen lxc uml")
	architectures     = strings.Fields(
		"alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips " +
			"mipsel mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb " +
			"sparc sparc64 unicore32 x86_64 xtensa xtensaeb")
)

// architecture returns the usual name of an architecture.
func architecture(name string) string {
	switch name = strings.ToLower(name); name {
	case "i386", "i486", "i586", "x86_32", "x86_32p":
		return "i686"
	case "amd64":
		return "x86_64"
	}
	return name
}

// vifModel returns the usual name of a model of network cards: some were called after
// VMware's classes.
func vifModel(name string) string {
	switch name = strings.ToLower(name); name {
	case "virtualsriovethernetcard":
		return "sriov"
	case "virtualpcnet32":
		return "pcnet"
	}
	return strings.TrimPrefix(name, "virtual")
}
