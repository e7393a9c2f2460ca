package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeComponents writes the bill of materials in CycloneDX's format: the modules
// that the programs themselves say they were linked from, and Go. What the
// program installs later is not in it; its locks name that.
func (o order) writeComponents(builds []build) error {
	modules, err := linked(builds)
	if err != nil {
		return err
	}
	program := cyclonedx.Component{
		BOMRef: "assay", Type: cyclonedx.ComponentTypeApplication, Name: "assay", Version: o.version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	var refs []string
	for _, m := range modules {
		refs = append(refs, m.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = serial(o.version, refs)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: o.at.Format(time.RFC3339), Component: &program}
	bom.Components = &modules
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "assay", Dependencies: &refs}}
	f, err := os.Create(filepath.Join(o.out, componentsFile))
	if err != nil {
		return err
	}
	e := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON)
	e.SetPretty(true)
	return errors.Join(e.EncodeVersion(bom, cyclonedx.SpecVersion1_6), f.Close())
}

// linked are the modules of all programs, each with the systems that have it.
func linked(builds []build) ([]cyclonedx.Component, error) {
	found := map[string]*cyclonedx.Component{}
	for _, b := range builds {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return nil, err
		}
		add(found, b, "golang", "std", strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(found, b, "golang", m.Path, m.Version, m.Sum)
		}
	}
	var out []cyclonedx.Component
	for _, c := range found {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	return out, nil
}

func add(found map[string]*cyclonedx.Component, b build, kind, name, version, sum string) {
	purl := fmt.Sprintf("pkg:%s/%s@%s", kind, name, version)
	c := found[purl]
	if c == nil {
		c = &cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl, Properties: &[]cyclonedx.Property{}}
		if sum != "" { // Go's own sum of a module, which is no hash of one file
			*c.Properties = append(*c.Properties, cyclonedx.Property{Name: "go:sum", Value: sum})
		}
		found[purl] = c
	}
	in := b.String()
	if b.duckdb {
		in += " with DuckDB"
	}
	*c.Properties = append(*c.Properties, cyclonedx.Property{Name: "assay:in", Value: in})
}

// serial names the list by what is in it, in the form of a UUID.
func serial(version string, refs []string) string {
	sum := sha256.Sum256([]byte(version + "\n" + strings.Join(refs, "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: made by own rules
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
