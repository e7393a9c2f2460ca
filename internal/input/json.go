package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// InWords is what a JSON decoder found, without its names for Go's types.
func InWords(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		what := "it"
		if kind.Field != "" {
			what = fmt.Sprintf("%q", kind.Field)
		}
		return fmt.Errorf("%s is %s, and should be %s", what, stands(kind.Value), shouldBe(kind.Type))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return errors.New("it ends too early")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// values are the decoder's words for what stands in a file.
var values = map[string]string{"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object"}

func stands(value string) string {
	if word, ok := values[value]; ok {
		return word
	}
	return "the " + value // "number 1.5"
}

func shouldBe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "a text"
}
