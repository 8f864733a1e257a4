package extraspecs

import (
	"cmp"
	"slices"
	"strings"
)

// Check returns the fault (Invalid) that Nova's API answers to a request for a server of this
// flavor and image, nil when they are compatible. The functions below check what Nova checks only
// when it chooses a host.
func Check(f Flavor, i Image) error {
	if err := i.Check(); err != nil {
		return err
	}
	if _, err := MemoryEncryption(f, i); err != nil {
		return err
	}
	if _, err := realtimeCPUs(f, i); err != nil { // before the policies
		return err
	}
	_, err := Topology(f, i)
	return err
}

// The CPU features that encrypt the memory of servers: Nova has AMDSEV in every release, AMDSEVES
// since 2025.2, and the others since 2026.2.
const (
	AMDSEV    = "amd-sev"
	AMDSEVES  = "amd-sev-es"
	AMDSEVSNP = "amd-sev-snp"
	IntelTDX  = "intel-tdx"
)

// MemoryEncryption returns the CPU feature that encrypts the server's memory, "" for none. The
// fault says that the flavor and the image contradict each other, or what is missing.
func MemoryEncryption(f Flavor, i Image) (model string, err error) {
	theirs, said := i.flag("hw_mem_encryption")
	text, requested := f.Specs["hw:mem_encryption"]
	ours, _ := Bool(text)
	switch {
	case !ours && !theirs:
		return "", nil
	case requested && said && ours != theirs:
		return "", conflict("Flavor %s has hw:mem_encryption extra spec explicitly set to %s, conflicting with image %s "+
			"which has hw_mem_encryption property explicitly set to %s", f.Name, text, i.Name, python(theirs))
	}
	var who []string
	if ours {
		who = append(who, "hw:mem_encryption extra spec in "+f.Name+" flavor")
	}
	if theirs {
		who = append(who, "hw_mem_encryption property of image "+i.ID)
	}
	if model, err = encryptionModel(f, i); err != nil {
		return "", err
	}
	machine := i.Property("hw_machine_type")
	switch {
	case i.Property("hw_firmware_type") != "uefi":
		return "", conflict("Memory encryption requested by %s but image %s doesn't have 'hw_firmware_type' property "+
			"set to 'uefi'",
			strings.Join(who, " and "), i.Name)
	case machine != "" && !strings.Contains(machine, "q35"):
		feature := "SEV"
		if model != AMDSEV {
			feature = model
		}
		return "", conflict("Machine type '%s' is not compatible with image %s (%s): q35 type is required for %s to work",
			machine, i.Name, i.ID, feature)
	case (model == AMDSEVSNP || model == IntelTDX) && !StatelessFirmware(i):
		return "", conflict("The %s memory encryption model requires stateless firmware but the image metadata "+
			"doesn't have the "+
			"'hw_firmware_stateless' property set to True", model)
	case model == IntelTDX && i.Property("hw_video_model") != "none":
		return "", conflict("The %s memory encryption model is incompatible with an attached video device. "+
			"Set the 'hw_video_model' image property to 'none' to disable it", model)
	}
	return model, nil
}

// encryptionModel returns the feature that the flavor or the image names, and AMDSEV when neither
// does.
func encryptionModel(f Flavor, i Image) (string, error) {
	ours, requested := f.Specs["hw:mem_encryption_model"]
	theirs, said := i.raw("hw_mem_encryption_model")
	if requested && said && ours != theirs {
		return "", conflict("Flavor %s has hw:mem_encryption_model extra spec explicitly set to %s, conflicting "+
			"with image %s "+
			"which has hw_mem_encryption_model property explicitly set to %s", f.Name, ours, i.Name, theirs)
	}
	model := cmp.Or(theirs, ours, AMDSEV)
	if !slices.Contains(encryptionModels, model) {
		return "", conflict("Invalid memory encryption model %s. Allowed values: %s.", repr(model),
			strings.Join(encryptionModels, ", "))
	}
	return model, nil
}

// StatelessFirmware reports whether the server's firmware keeps no state. Nova ignores the property
// of an image without UEFI.
func StatelessFirmware(i Image) bool {
	on, _ := i.flag("hw_firmware_stateless")
	return on && i.Property("hw_firmware_type") == "uefi"
}

// MaxPhysAddr returns how the size of physical addresses in the guest is chosen, "emulate" or
// "passthrough"; "" for the default.
func MaxPhysAddr(f Flavor, i Image) (mode string, err error) {
	mode, err = agreed(f, i, "hw", "maxphysaddr_mode")
	if err == nil && mode != "" && !slices.Contains(addressModes, mode) {
		err = conflict("Invalid Maxphyaddr mode %s. Allowed values: %s.", repr(mode), strings.Join(addressModes, ", "))
	}
	return mode, err
}

// python is a truth value as Python shows it.
func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// agreed returns what the flavor or the image says under a name, and a fault when both
// do and differ.
func agreed(f Flavor, i Image, prefix, name string) (string, error) {
	key, property := prefix+":"+name, prefix+"_"+name
	ours, theirs := f.Specs[key], i.Property(property)
	switch {
	case ours == "":
		return theirs, nil
	case theirs != "" && theirs != ours:
		return "", conflict("Flavor %s has %s extra spec explicitly set to %s, conflicting with image %s which has %s "+
			"explicitly set to %s.",
			f.Name, key, ours, i.Name, property, theirs)
	}
	return ours, nil
}

// TPM returns the version of the server's TPM, "" for none, and its model.
func TPM(f Flavor, i Image) (version, model string, err error) {
	if version, err = agreed(f, i, "hw", "tpm_version"); err != nil || version == "" {
		return "", "", err
	}
	if !slices.Contains(tpmVersions, version) {
		return "", "", conflict("Invalid TPM version %s. Allowed values: %s.", repr(version), strings.Join(tpmVersions, ", "))
	}
	model, err = agreed(f, i, "hw", "tpm_model")
	switch {
	case err != nil:
		return "", "", err
	case model != "" && !slices.Contains(tpmModels, model):
		return "", "", conflict("Invalid TPM model %s. Allowed values: %s.", repr(model), strings.Join(tpmModels, ", "))
	case model == "tpm-crb" && version != "2.0":
		return "", "", conflict("TPM model CRB is only valid with TPM version 2.0.")
	}
	return version, cmp.Or(model, "tpm-tis"), nil
}

// SoundModel returns the server's sound card, "" for none.
func SoundModel(f Flavor, i Image) (string, error) {
	model, err := agreed(f, i, "hw", "sound_model")
	if err == nil && model != "" && !slices.Contains(soundModels, model) {
		err = conflict("Invalid sound model %s. Allowed values: %s.", repr(model), strings.Join(soundModels, ", "))
	}
	return model, err
}

// SecureBoot reports whether the server must boot securely.
func SecureBoot(f Flavor, i Image) (bool, error) {
	policy, err := agreed(f, i, "os", "secure_boot")
	if err == nil && policy != "" && !slices.Contains(bootPolicies, policy) {
		err = conflict("Invalid secure boot policy %s. Allowed values: %s.", repr(policy), strings.Join(bootPolicies, ", "))
	}
	return policy == "required", err
}

// PCIPolicy returns the NUMA affinity of the server's devices, "" for none.
func PCIPolicy(f Flavor, i Image) (string, error) {
	ours, theirs := f.Specs["hw:pci_numa_affinity_policy"], i.Property("hw_pci_numa_affinity_policy")
	if ours == "" {
		ours, theirs = theirs, ""
	}
	switch {
	case theirs != "" && theirs != ours:
		return "", conflict("Image property 'hw_pci_numa_affinity_policy' is not permitted to override the " +
			"'hw:pci_numa_affinity_policy' flavor extra spec.")
	case ours != "" && !slices.Contains(pciPolicies, ours):
		return "", conflict("Invalid PCI NUMA affinity configured: %s", ours)
	}
	return ours, nil
}

// Encryption returns whether ephemeral disks are encrypted, and in which format, "" for any.
func Encryption(f Flavor, i Image) (on bool, format string, err error) {
	theirs, said := i.flag("hw_ephemeral_encryption")
	text, requested := f.Specs["hw:ephemeral_encryption"]
	ours, _ := Bool(text)
	switch {
	case requested && said && ours != theirs:
		return false, "", conflict("Flavor %s has hw:ephemeral_encryption extra spec explicitly set to %s, conflicting "+
			"with image %s "+
			"which has hw_eph_encryption property explicitly set to %s", f.Name, text, i.Name, python(theirs))
	case !ours && !theirs:
		return false, "", nil
	}
	if format, err = agreed(f, i, "hw", "ephemeral_encryption_format"); err != nil {
		return false, "", err
	}
	if format != "" && !slices.Contains(encryptionFormats, format) {
		return false, "", conflict("Invalid ephemeral encryption format %s. Allowed values: %s", format,
			strings.Join(encryptionFormats, ", "))
	}
	return true, format, nil
}
