package weblab

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// mostWords bounds what a guest puts into a line for people.
const mostWords = 400

// plain is a text of a stranger's without what would steer a terminal or break
// a line.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// plainly hands lines on that hold a guest's words.
func plainly(say func(string)) func(string) {
	return func(line string) {
		short := []rune(plain(line))
		if len(short) > mostWords {
			short = append(short[:mostWords], '…')
		}
		say(string(short))
	}
}

// hearing reads what a guest said, all texts in it plain: they go to journals,
// and from there to other people's terminals.
func hearing(text []byte, into any) error {
	var heard any
	if err := json.Unmarshal(text, &heard); err != nil {
		return fmt.Errorf("the page sent something that is not JSON: %w", err)
	}
	text, err := json.Marshal(plainAll(heard))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// plainAll makes every text in a JSON value plain.
func plainAll(value any) any {
	switch v := value.(type) {
	case string:
		return plain(v)
	case []any:
		for i := range v {
			v[i] = plainAll(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, of := range v {
			clean[plain(key)] = plainAll(of)
		}
		return clean
	}
	return value
}
