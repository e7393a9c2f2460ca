package pytext

import "strings"

// Identifier is a type as a part of a Python name: whatever is not a letter, digit
// or underscore becomes an underscore.
func Identifier(modelType string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, modelType)
}
