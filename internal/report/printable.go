package report

import (
	"reflect"

	"assay/internal/clean"
)

// printable is a copy of v in which no string holds a character that steers a
// terminal or that XML cannot hold: a folder may have any name, and a result may
// come from anywhere. It goes through values and not through what was made of
// them, so that no writer can forget a place.
func printable[T any](v T) T {
	return cleaned(reflect.ValueOf(v)).Interface().(T)
}

func cleaned(v reflect.Value) reflect.Value {
	if !holdsText(v.Type()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(clean.Text(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(cleaned(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleaned(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(cleaned(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for key, value := range v.Seq2() {
			out.SetMapIndex(cleaned(key), cleaned(value))
		}
	}
	return out
}

// holdsText spares long lists of numbers the walk.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return holdsText(t.Elem())
	case reflect.String, reflect.Struct, reflect.Map:
		return true
	}
	return false
}
