package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// section is one thing that is measured.
type section struct {
	name    string
	about   string
	measure func(*bench, context.Context) (findings, error)
}

// findings are what a section adds to the document.
type findings struct {
	rows  []Row
	grids []Grid
	where *Machine // where it was measured, if that was not here
}

// sections are in the order in which they are measured and printed.
func sections() []section {
	return []section{
		{"commands", "commands that must be instant", (*bench).commands},
		{"overhead", "what a CPU cell costs beyond the model's own work", (*bench).overhead},
		{"sweep", "no-op cells to queryable rows", (*bench).sweep},
		{"fleet", "no-op cells through a coordinator and eight workers", (*bench).fleet},
		{"types", "every model type, tiny, on the CPU", (*bench).types},
		{"harness-cpu", "the harness's CPU time while a model is timed", (*bench).harness},
		{"cold", "one cold bench against the bare imports, and each further cell", (*bench).cold},
		{"bare", "Assay's timed loop against the same loop in plain Python", (*bench).bare},
		{"openvino", "full models on OpenVINO: the cache, and its own benchmark program", (*bench).openvino},
		{"a-against-a", "a cell compared with itself", (*bench).same},
		{"ranks", "the order in which --quick and the full mode put the key models", (*bench).ranks},
		{"derived", "what is derived from torch's tables against what was measured", (*bench).derived},
		{"bare-gpu", "Assay's timed loop against the same loop in plain Python, on a GPU of this machine", (*bench).bareGPU},
		{"gpu", "the key models on a GPU, from a worker's journal", (*bench).gpu},
	}
}

func names() []string {
	var out []string
	for _, s := range sections() {
		out = append(out, s.name)
	}
	return out
}

// byName are measured where they are asked for.
var byName = []string{"bare-gpu", "gpu"}

// chosen reads --only. Without it everything is measured that needs no GPU; the section gpu only
// where a journal was given, and with nothing else but a journal it is alone.
func chosen(only, gpu string) ([]string, error) {
	asked := strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range asked {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("unknown section %q: the sections are %s", name, strings.Join(names(), ", "))
		}
		if name == "gpu" && gpu == "" {
			return nil, errors.New("the section gpu needs what was measured on a GPU machine: --gpu FILE")
		}
	}
	switch {
	case len(asked) > 0:
		return asked, nil
	case gpu != "":
		return []string{"gpu"}, nil
	}
	return slices.DeleteFunc(names(), func(name string) bool { return slices.Contains(byName, name) }), nil
}
