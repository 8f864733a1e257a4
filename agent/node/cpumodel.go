package node

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/osloconfig"
)

// The values of [libvirt] cpu_mode; when it is not set, it is hostModel.
const (
	hostModel       = "host-model"
	hostPassthrough = "host-passthrough"
	custom          = "custom"
	noModel         = "none"
)

// A cpuModel is what the options say of the CPUs that servers see.
type cpuModel struct {
	mode        string   // "" when it is not set
	models      []string // of mode custom
	flags       []string // as written: "+vmx", "-avx", "aes"
	skipCompare bool
	added       []string // features that the flags add, of those that are traits, by the kernel's names
	removed     []string // and remove
}

func (c *cpuModel) settings() []config.Setting {
	const g = groupLibvirt
	return []config.Setting{
		config.NewSetting(g, "cpu_mode", osloconfig.Choice(&c.mode, hostModel, hostPassthrough, custom, noModel),
			"CPU of servers, for the HW_CPU_X86_… traits of the host: host-model and host-passthrough: its own. custom: the "+
				"cpu_models. none: QEMU's default. Not set: host-model."),
		config.NewSetting(g, "cpu_models", osloconfig.List(&c.models),
			"With cpu_mode = custom, and only then: names of libvirt's CPU models, in any case, separated by commas. The host "+
				"has the traits of all of them.").Formerly("cpu_model"),
		config.NewSetting(g, "cpu_model_extra_flags", osloconfig.List(&c.flags),
			"CPU flags, by libvirt's names, to add to the CPU of servers, or, with - before the name, to remove."),
		config.NewSetting(groupWorkarounds, "skip_cpu_compare_at_startup", osloconfig.Bool(&c.skipCompare),
			"Accept models of [libvirt] cpu_models with flags that the CPUs of the host lack."),
	}
}

// understand checks which options are combined, by Nova's rules, and reads the flags.
func (c *cpuModel) understand(r *reader) {
	switch {
	case c.mode != custom && len(c.models) > 0:
		r.wrong(groupLibvirt, "cpu_models", strings.Join(c.models, ","), "leave it out, or set cpu_mode = custom")
	case c.mode == custom && len(c.models) == 0:
		r.wrong(groupLibvirt, "cpu_mode", c.mode, "set cpu_models too: the models that servers may have")
	case c.mode == noModel && len(c.flags) > 0:
		r.warn("[libvirt] cpu_model_extra_flags does nothing with cpu_mode = none")
	}
	disable := map[string]bool{}
	for _, text := range c.flags {
		flag := strings.ToLower(text)
		name, minus := strings.TrimLeft(flag, "+"), strings.HasPrefix(flag, "-")
		if minus {
			name = strings.TrimLeft(flag, "-")
		}
		switch old, twice := disable[name]; {
		case name == "":
			r.wrong(groupLibvirt, "cpu_model_extra_flags", text, "want the name of a CPU flag, after + or - or alone")
			continue
		case twice && old != minus:
			r.wrong(groupLibvirt, "cpu_model_extra_flags", text, "it is both added and removed")
		case !slices.Contains(libvirtCPUs().flags, name):
			r.warn("[libvirt] cpu_model_extra_flags: %.60q is not a flag of %s, and has no effect", name, libvirtCPUs().source)
		}
		disable[name] = minus
		if feature := kernelNamesOf([]string{name}); minus {
			c.removed = append(c.removed, feature...)
		} else {
			c.added = append(c.added, feature...)
		}
	}
}

// defaultModels are the models of QEMU's that servers have in mode none, by the architecture.
var defaultModels = map[string]string{"x86_64": "qemu64", "i686": "qemu32"}

// features returns what the CPUs of servers can do, by the kernel's names, and whether that is all
// that is known. An error names each model that does not exist, or that the machine cannot offer.
func (c *cpuModel) features(p processor, arch string, r *Report) (all []string, known bool, err error) {
	model, x86 := defaultModels[arch]
	switch {
	case !x86:
		if c.mode == custom {
			r.Warnings = append(r.Warnings, "[libvirt] cpu_models has no effect on traits: the models of x86 are known, and "+
				"this machine is "+arch)
		}
		return p.features, p.features != nil, nil
	case c.mode == noModel:
		return libvirtCPUs().models[model], true, nil
	case c.mode == custom:
		all, err = c.customFeatures(p)
		return all, true, err
	case p.features == nil:
		return nil, false, nil
	}
	if absent := c.absent(c.added, p); len(absent) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("[libvirt] cpu_model_extra_flags: the CPUs of this machine lack %s, "+
			"and the host reports the traits", strings.Join(absent, ", ")))
	}
	return without(union(p.features, c.added), c.removed), true, nil
}

// customFeatures are those of the models that the options name, and of the flags.
func (c *cpuModel) customFeatures(p processor) ([]string, error) {
	all := c.added
	var errs []error
	for _, text := range c.models {
		name, features, err := libvirtCPUs().model(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("[libvirt] cpu_models: %w", err))
			continue
		}
		all = union(all, features)
		if absent := c.absent(features, p); len(absent) > 0 {
			errs = append(errs, fmt.Errorf("[libvirt] cpu_models: %s: the CPUs of this machine lack %s: name a model without "+
				"these flags, or remove them: cpu_model_extra_flags = -%s", name, strings.Join(absent, ", "),
				strings.Join(absent, ",-")))
		}
	}
	if absent := c.absent(c.added, p); len(absent) > 0 {
		errs = append(errs, fmt.Errorf("[libvirt] cpu_model_extra_flags: the CPUs of this machine lack %s",
			strings.Join(absent, ", ")))
	}
	return without(all, c.removed), errors.Join(errs...)
}

// absent are the features that servers would have and the CPUs lack, by libvirt's names.
func (c *cpuModel) absent(features []string, p processor) []string {
	if c.skipCompare {
		return nil
	}
	return libvirtNamesOf(without(without(features, c.removed), p.features))
}

// kernelNames are the kernel's names of the features that libvirt calls otherwise, of those that
// are traits.
var kernelNames = map[string]string{
	"avx512-vpopcntdq": "avx512_vpopcntdq", "avx512bitalg": "avx512_bitalg", "avx512vbmi2": "avx512_vbmi2",
	"avx512vnni": "avx512_vnni", "pclmuldq": "pclmulqdq", "sha-ni": "sha_ni", "sse4.1": "sse4_1", "sse4.2": "sse4_2",
}

// kernelNamesOf returns the kernel's names of those features that are traits.
func kernelNamesOf(libvirt []string) (kernel []string) {
	for _, name := range libvirt {
		if other, ok := kernelNames[name]; ok {
			name = other
		}
		if cpuTraits[name] != nil {
			kernel = append(kernel, name)
		}
	}
	return kernel
}

func libvirtNamesOf(kernel []string) []string {
	all := slices.Clone(kernel)
	for libvirt, name := range kernelNames {
		if i := slices.Index(all, name); i >= 0 {
			all[i] = libvirt
		}
	}
	return all
}

// union and without return sorted sets.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func without(a, b []string) []string {
	return slices.DeleteFunc(union(a, nil), func(s string) bool { return slices.Contains(b, s) })
}

//go:embed cpumodels.txt
var cpuModelsText string

// A cpuCatalog has libvirt's CPU models for x86.
type cpuCatalog struct {
	source string
	flags  []string            // that libvirt knows, by its names
	models map[string][]string // features that are traits, by the kernel's names, by the model
}

// libvirtCPUs reads the table cpumodels.txt, once. Its lines are a model and its features. The line
// of the model * has all names of features, and that of @ says what the table was taken from.
var libvirtCPUs = sync.OnceValue(func() cpuCatalog {
	c := cpuCatalog{models: map[string][]string{}}
	for line := range strings.Lines(cpuModelsText) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == "@":
			c.source = strings.Join(words[1:], " ")
		case words[0] == "*":
			c.flags = append(c.flags, words[1:]...)
		default:
			c.models[words[0]] = kernelNamesOf(words[1:])
		}
	}
	return c
})

// model returns the model of a name in any case.
func (c cpuCatalog) model(text string) (name string, features []string, err error) {
	lower := map[string]string{}
	var names []string
	for name := range c.models {
		lower[strings.ToLower(name)] = name
		names = append(names, strings.ToLower(name))
	}
	if name, ok := lower[strings.ToLower(text)]; ok {
		return name, c.models[name], nil
	}
	slices.Sort(names)
	advice := ""
	if closest := osloconfig.Closest(strings.ToLower(text), names); closest != "" {
		advice = "; did you mean " + lower[closest] + "?"
	}
	return "", nil, fmt.Errorf("%.60q: there is no such model for x86 in %s%s", text, c.source, advice)
}
