package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"time"

	"assay/internal/atlas"
	"assay/internal/board"
	"assay/internal/clean"
)

// downloads are the data for other programs, and the list of them.
func (s *site) downloads() ([]file, error) {
	all, err := s.allJSON()
	if err != nil {
		return nil, err
	}
	table, err := s.allCSV()
	if err != nil {
		return nil, err
	}
	small, err := json.Marshal(s.board)
	if err != nil {
		return nil, err
	}
	files := []file{{"data/atlas.json", all}, {"data/atlas.csv", table}, {"data/board.json", small}}
	type listed struct {
		Name  string `json:"name"`
		What  string `json:"what"`
		Bytes int    `json:"bytes"`
	}
	list := []listed{
		{"atlas.json", "every claim, with versions, machine, run, placement and error", len(all)},
		{"atlas.csv", "a line for each type, target and dtype", len(table)},
		{"board.json", "the matrix in codes, as these pages read it", len(small)},
	}
	index, err := script("files", map[string]any{"files": list})
	return append(files, index), err
}

// allJSON is every answer, as can-i-use --json has it.
func (s *site) allJSON() ([]byte, error) {
	type top struct {
		Schema  int      `json:"schema"`
		MadeAt  string   `json:"made_at"`
		Answers []answer `json:"answers"`
	}
	out := top{Schema: board.Schema, MadeAt: s.board.MadeAt.Format(time.RFC3339)}
	for _, m := range s.models {
		out.Answers = append(out.Answers, m.Answer)
	}
	return json.Marshal(out)
}

// allCSV is a line for each claim.
func (s *site) allCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"model", "family", "target", "dtype", "verdict", "evidence", "class", "why", "error", "versions", "date", "run"}}
	for _, m := range s.models {
		for _, l := range m.Answer.Targets {
			rows = append(rows, csvRow(m.Model, l.Claim))
			for _, o := range l.Others {
				rows = append(rows, csvRow(m.Model, o.Claim))
			}
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func csvRow(e entry, c atlas.Claim) []string {
	off, date, run := "", "", ""
	if c.Error != nil {
		off = strconv.FormatFloat(*c.Error, 'g', 3, 64)
	}
	if !c.At.IsZero() {
		date = c.At.Format(time.RFC3339)
	}
	if c.Run != nil {
		run = c.Run.ID
	}
	return []string{e.Type, e.Family, c.Target, string(c.DType), string(c.Verdict), string(c.Evidence), string(c.Class), guarded(clean.Line(why(c))), off, board.Tried(c), date, run}
}

// guarded keeps a spreadsheet from taking a text for a formula.
func guarded(text string) string {
	if text != "" && bytes.ContainsRune([]byte("=+-@"), rune(text[0])) {
		return "'" + text
	}
	return text
}
