//go:build cgo

package store

import (
	"database/sql/driver"
	"maps"
	"slices"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// flushBytes is how much of journal lines is gathered before it is appended.
const flushBytes = 32 << 20

// pending are rows that wait to be appended, by table.
type pending struct {
	tables []*table
	bytes  int
}

// table is rows of one table, all with the same columns.
type table struct {
	name    string
	columns []string
	rows    [][]driver.Value
}

// row is one row as names and values, in the order of the table's columns.
type row []struct {
	column string
	value  any
}

func (p *pending) add(name string, r row) {
	i := slices.IndexFunc(p.tables, func(t *table) bool { return t.name == name })
	if i < 0 {
		t := &table{name: name}
		for _, f := range r {
			t.columns = append(t.columns, f.column)
		}
		i, p.tables = len(p.tables), append(p.tables, t)
	}
	values := make([]driver.Value, len(r))
	for j, f := range r {
		values[j] = f.value
	}
	p.tables[i].rows = append(p.tables[i].rows, values)
}

// text is null for what is not known.
func text[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// whole is null for a number whose zero means that it was left open.
func whole[T ~int | ~int64](n T) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// maybe is null for a nil pointer.
func maybe[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// of is a field of a part that may be absent.
func of[S, T any](part *S, field func(*S) T) any {
	if part == nil {
		return nil
	}
	v := any(field(part))
	if p, ok := v.(*float64); ok {
		return maybe(p)
	}
	if p, ok := v.(*int64); ok {
		return maybe(p)
	}
	if s, ok := v.(string); ok {
		return text(s)
	}
	return v
}

func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// dictionary is a map with its keys in order, so that the same map is always
// the same value; null when there is none.
func dictionary[V any](m map[string]V) any {
	if len(m) == 0 {
		return nil
	}
	var out duckdb.OrderedMap
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out.Set(k, m[k])
	}
	return out
}
