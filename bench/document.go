package main

import (
	"time"

	"assay/internal/cell"
)

// Document is everything that one run of bench found.
type Document struct {
	Schema  int     `json:"schema"`
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
	Grids   []Grid  `json:"tables,omitempty"`
}

// Machine is where it was measured.
type Machine struct {
	At         time.Time         `json:"at"`
	Host       cell.Host         `json:"host"`
	Versions   map[string]string `json:"versions"` // assay, go, python, torch, transformers
	LoadBefore *float64          `json:"load_before"`
	Quick      bool              `json:"quick"`          // too few repetitions to be quoted
	Seed       uint64            `json:"seed,omitempty"` // of the order in which sides alternated
}

// Row is one measured thing beside its bar.
type Row struct {
	Section  string `json:"section"`
	Name     string `json:"name"`
	Measured string `json:"measured"` // what, how often, on what
	Value    string `json:"value"`
	Bar      string `json:"bar,omitempty"`
	// Met is nil where there is no bar, or too little was measured to judge.
	Met  *bool  `json:"met"`
	Note string `json:"note,omitempty"`
	// Data are the numbers behind Value, their units in their names.
	Data map[string]float64 `json:"data,omitempty"`
	// Raw are the samples, one number a repetition.
	Raw map[string][]float64 `json:"raw,omitempty"`
}

// Grid is a table that stands beside the rows.
type Grid struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// judge sets Met, unless too little was measured to judge.
func (r Row) judge(met, enough bool) Row {
	if enough {
		r.Met = &met
	} else {
		r.Note = joined(r.Note, "too little was measured to judge")
	}
	return r
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
