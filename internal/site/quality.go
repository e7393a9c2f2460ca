package site

import (
	"slices"
	"time"

	"assay/internal/atlas"
	"assay/internal/board"
	"assay/internal/catalog"
	"assay/internal/cell"
)

// quality is what each column of the atlas rests on.
type quality struct {
	Schema  int             `json:"schema"`
	Columns []qualityColumn `json:"columns"`
}

type qualityColumn struct {
	atlas.Column
	Of        int        `json:"of"` // planned cells
	Measured  int        `json:"measured"`
	Emulated  int        `json:"emulated"`
	Compiled  int        `json:"compiled"`
	Derived   int        `json:"derived"`
	Predicted int        `json:"predicted"`
	Unknown   int        `json:"unknown"`
	Oldest    *time.Time `json:"oldest,omitempty"`
	Newest    *time.Time `json:"newest,omitempty"`
	Versions  []string   `json:"versions,omitempty"`
}

func (s *site) quality() quality {
	q := quality{Schema: board.Schema}
	for _, c := range s.Book.Columns() {
		q.Columns = append(q.Columns, qualityColumn{Column: c})
	}
	chosen, err := s.Catalog.Select(catalog.Selector{All: true})
	if err != nil {
		return q
	}
	for _, choice := range chosen {
		claims, err := s.Book.Claims(choice.Entry.Type)
		if err != nil {
			continue // Ask has told it
		}
		for i, c := range claims {
			q.Columns[i].add(c)
		}
	}
	return q
}

func (q *qualityColumn) add(c atlas.Claim) {
	q.Of++
	if !c.Known() {
		q.Unknown++
		return
	}
	switch c.Evidence {
	case cell.Measured:
		q.Measured++
	case cell.Emulated:
		q.Emulated++
	case cell.Compiled:
		q.Compiled++
	case cell.Derived:
		q.Derived++
	case cell.Predicted:
		q.Predicted++
	}
	at := c.At
	if q.Oldest == nil || at.Before(*q.Oldest) {
		q.Oldest = &at
	}
	if q.Newest == nil || at.After(*q.Newest) {
		q.Newest = &at
	}
	if v := board.Tried(c); v != "" && !slices.Contains(q.Versions, v) {
		q.Versions = append(q.Versions, v)
	}
}
