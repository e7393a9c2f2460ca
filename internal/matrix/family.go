package matrix

import (
	"assay/internal/cell"
	"assay/internal/platform"
)

// FamilyRow counts a family's squares.
type FamilyRow struct {
	Family string        `json:"family"`
	Models int           `json:"models"`
	Counts []FamilyCount `json:"counts"` // one a platform, in the matrix's order
}

// FamilyCount counts the verdicts of a family on one platform.
type FamilyCount struct {
	Platform platform.Name        `json:"platform"`
	Verdicts map[cell.Verdict]int `json:"verdicts"`
}

// Families returns the matrix by family: how many of its models have which
// verdict on each platform.
func (m Matrix) Families() []FamilyRow {
	var rows []FamilyRow
	for _, r := range m.Rows {
		if len(rows) == 0 || rows[len(rows)-1].Family != r.Family {
			rows = append(rows, newFamilyRow(r.Family, m.Platforms))
		}
		last := &rows[len(rows)-1]
		last.Models++
		for i, s := range r.Squares {
			last.Counts[i].Verdicts[s.Shown()]++
		}
	}
	return rows
}

func newFamilyRow(family string, platforms []platform.Name) FamilyRow {
	row := FamilyRow{Family: family}
	for _, p := range platforms {
		row.Counts = append(row.Counts, FamilyCount{p, map[cell.Verdict]int{}})
	}
	return row
}

// Count returns how many squares have each verdict, what ran apart from what
// should work.
func (m Matrix) Count() map[cell.Verdict]int {
	counts := map[cell.Verdict]int{}
	for _, r := range m.Rows {
		for _, s := range r.Squares {
			counts[s.Shown()]++
		}
	}
	return counts
}
