package main

import (
	"debug/buildinfo"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom writes which modules, and which Go, are linked into the program, as the program itself
// says: go.mod lists more, those of tests and tools.
func (r release) sbom() error {
	info, err := buildinfo.ReadFile(r.program)
	if err != nil {
		return err
	}
	bom := cyclonedx.NewBOM()
	berth := component(cyclonedx.ComponentTypeApplication, info.Main.Path, r.version)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.made.Format(time.RFC3339), Component: &berth}
	components := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		components = append(components, component(cyclonedx.ComponentTypeLibrary, used(module).Path, used(module).Version))
	}
	bom.Components = &components
	needs := make([]string, len(components))
	for i, c := range components {
		needs[i] = c.BOMRef
	}
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: berth.BOMRef, Dependencies: &needs}}

	f, err := os.Create(r.out)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return f.Close()
}

// used is what stands in the place of a module: a replacement is what has to be looked up.
func used(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// component names a module by its package URL, which is how vulnerabilities are looked up.
func component(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
