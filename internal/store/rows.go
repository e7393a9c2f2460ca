//go:build cgo

package store

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/internal/cell"
	"assay/internal/clean"
)

// Rows is the answer to a question, all of it in memory.
type Rows struct {
	Columns []string // each name once: a repeated one gets a number
	Values  [][]any  // as the driver gives them; nil is null
	// Notes are sentences that belong beside the answer, such as lines of
	// journals that could not be read.
	Notes []string

	types []coltype
}

func (r *Rows) addColumn(name, typ string) {
	unique := name
	for n := 2; slices.Contains(r.Columns, unique); n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	r.Columns = append(r.Columns, unique)
	r.types = append(r.types, parseType(typ))
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Values) }

// Write prints the rows in the format of a name; "" is text.
func (r *Rows) Write(w io.Writer, format string) error {
	switch format {
	case "", "text":
		return r.WriteText(w)
	case "json":
		return r.WriteJSON(w)
	case "csv":
		return r.WriteCSV(w)
	}
	return &FormatError{format}
}

// WriteJSON writes {"schema":1,"rows":[…]}, one row per line, columns in order.
func (r *Rows) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `{"schema":%d,"rows":[`, cell.Schema)
	for i, values := range r.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(r.line(values))
	}
	if len(r.Values) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Flush()
}

// line is a row as a JSON object.
func (r *Rows) line(values []any) []byte {
	var o object
	for j, v := range values {
		o.add(r.Columns[j], jsonValue(v, r.types[j]))
	}
	return o.bytes()
}

// WriteCSV writes a line of names and one for each row; null is an empty
// field, lists and maps are JSON. What would steer a terminal is left out.
func (r *Rows) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	line := make([]string, len(r.Columns))
	for i, name := range r.Columns {
		line[i] = clean.Text(name)
	}
	if err := c.Write(line); err != nil {
		return err
	}
	for _, values := range r.Values {
		for i, v := range values {
			line[i] = clean.Text(plainText(v, r.types[i]))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// widest is how many characters of a value the text table shows.
const widest = 80

// WriteText writes a table for people: numbers to the right, long values
// shortened, null as a dash.
func (r *Rows) WriteText(w io.Writer) error {
	cells := make([][]string, len(r.Values))
	widths := make([]int, len(r.Columns))
	head := make([]string, len(r.Columns))
	for j, name := range r.Columns {
		head[j] = clean.Line(name) // an alias may be any text
		widths[j] = utf8.RuneCountInString(head[j])
	}
	for i, values := range r.Values {
		cells[i] = make([]string, len(values))
		for j, v := range values {
			cells[i][j] = short(v, r.types[j])
			widths[j] = max(widths[j], utf8.RuneCountInString(cells[i][j]))
		}
	}
	b := bufio.NewWriter(w)
	r.textLine(b, head, widths)
	rule := make([]string, len(widths))
	for j, n := range widths {
		rule[j] = strings.Repeat("─", n)
	}
	r.textLine(b, rule, widths)
	for _, line := range cells {
		r.textLine(b, line, widths)
	}
	return b.Flush()
}

func (r *Rows) textLine(b *bufio.Writer, line []string, widths []int) {
	var out strings.Builder
	for j, s := range line {
		if j > 0 {
			out.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(s))
		if numeric[r.types[j].name] {
			out.WriteString(pad + s)
		} else {
			out.WriteString(s + pad)
		}
	}
	b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
}

var numeric = map[string]bool{
	"TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "HUGEINT": true, "UTINYINT": true, "USMALLINT": true,
	"UINTEGER": true, "UBIGINT": true, "UHUGEINT": true, "FLOAT": true, "DOUBLE": true, "DECIMAL": true,
}

// short makes one line of a value.
func short(v any, t coltype) string {
	if v == nil {
		return "-"
	}
	s := clean.Line(plainText(v, t))
	if utf8.RuneCountInString(s) > widest {
		s = string([]rune(s)[:widest-1]) + "…"
	}
	return s
}
