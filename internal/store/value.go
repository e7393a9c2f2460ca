//go:build cgo

package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/clean"

	"github.com/duckdb/duckdb-go/v2"
)

// times are how each type that comes as a time is written.
var times = map[string]string{
	"DATE":   time.DateOnly,
	"TIME":   "15:04:05.999999999",
	"TIMETZ": "15:04:05.999999999Z07:00",
}

// plainText writes a value for text and CSV; lists, maps and structs are
// written as JSON. Null is "".
func plainText(v any, t coltype) string {
	b := jsonValue(v, t)
	if len(b) > 0 && b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return s
		}
	}
	if f, ok := v.(float64); ok && string(b) == "null" {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if v == nil {
		return ""
	}
	return string(b)
}

// jsonValue writes a value as JSON: instants in RFC 3339, decimals and large
// integers as exact numbers, bytes in base 64, and what JSON has no number for
// (NaN, infinity) as null.
func jsonValue(v any, t coltype) []byte {
	switch v := v.(type) {
	case nil:
		return []byte("null")
	case bool:
		return strconv.AppendBool(nil, v)
	case float64:
		return jsonFloat(v, 64)
	case float32:
		return jsonFloat(float64(v), 32)
	case *big.Int:
		return []byte(v.String())
	case duckdb.Decimal:
		return []byte(decimal(v))
	case time.Time:
		return quote(timeText(v, t))
	case duckdb.Interval:
		return quote(interval(v))
	case []byte:
		return quote(bytesText(v, t))
	case string:
		return quote(v)
	case duckdb.OrderedMap:
		return jsonMap(v, t)
	}
	return jsonNested(v, t)
}

func jsonNested(v any, t coltype) []byte {
	if t.name == "JSON" {
		return marshal(v)
	}
	switch v := v.(type) {
	case []any:
		elem := coltype{}
		if t.elem != nil {
			elem = *t.elem
		}
		parts := make([][]byte, len(v))
		for i, e := range v {
			parts[i] = jsonValue(e, elem)
		}
		return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
	case map[string]any:
		var o object
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.add(k, jsonValue(v[k], t.fields[k]))
		}
		return o.bytes()
	case duckdb.Union:
		return jsonValue(v.Value, coltype{name: v.Tag})
	}
	return marshal(v)
}

func jsonMap(m duckdb.OrderedMap, t coltype) []byte {
	key, elem := coltype{}, coltype{}
	if t.key != nil {
		key, elem = *t.key, *t.elem
	}
	var o object
	values := m.Values()
	for i, k := range m.Keys() {
		o.add(plainText(k, key), jsonValue(values[i], elem))
	}
	return o.bytes()
}

// object is a JSON object whose fields keep their order.
type object struct{ b []byte }

func (o *object) add(name string, value []byte) {
	if len(o.b) > 0 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, quote(name)...), ':'), value...)
}

func (o *object) bytes() []byte { return slices.Concat([]byte("{"), o.b, []byte("}")) }

func jsonFloat(f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null")
	}
	if bits == 32 {
		return marshal(float32(f))
	}
	return marshal(f)
}

// quote writes a JSON string without HTML escapes.
func quote(s string) []byte { return marshal(s) }

func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		b.Reset()
		_ = e.Encode(fmt.Sprint(v))
	}
	return clean.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func timeText(v time.Time, t coltype) string {
	if layout, ok := times[t.name]; ok {
		return v.Format(layout)
	}
	return v.UTC().Format(time.RFC3339Nano)
}

func bytesText(v []byte, t coltype) string {
	if t.name == "UUID" && len(v) == 16 {
		u := duckdb.UUID(v)
		return u.String()
	}
	return base64.StdEncoding.EncodeToString(v)
}

// decimal keeps the scale: a price of 1.50 is not 1.5.
func decimal(d duckdb.Decimal) string {
	digits := new(big.Int).Abs(d.Value).String()
	if scale := int(d.Scale); scale > 0 {
		digits = strings.Repeat("0", max(0, scale+1-len(digits))) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if d.Value.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// interval is in the words of ISO 8601.
func interval(v duckdb.Interval) string {
	s := "P"
	if v.Months != 0 {
		s += fmt.Sprintf("%dM", v.Months)
	}
	if v.Days != 0 {
		s += fmt.Sprintf("%dD", v.Days)
	}
	if v.Micros != 0 || s == "P" {
		s += "T" + strconv.FormatFloat(float64(v.Micros)/1e6, 'f', -1, 64) + "S"
	}
	return s
}
