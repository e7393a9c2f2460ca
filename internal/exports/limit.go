package exports

import (
	"fmt"
	"strconv"
	"strings"
)

// LimitVariable is the variable by which users say how much exported models may
// take.
const LimitVariable = "ASSAY_EXPORTS_LIMIT"

// LimitFrom is how much they may take: what the environment says, or Limit.
func LimitFrom(getenv func(string) string) (int64, error) {
	s := getenv(LimitVariable)
	if s == "" {
		return Limit, nil
	}
	n, err := ParseBytes(s)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", LimitVariable, err)
	}
	return max(n, 1), nil // none at all is a limit too, and 0 is for those who say none
}

var byteUnits = []struct {
	suffix string
	bytes  float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}, {"", 1}}

// ParseBytes reads a size as people write it: 20GB, 500 MB, 0.
func ParseBytes(s string) (int64, error) {
	text := strings.ToUpper(strings.TrimSpace(s))
	for _, u := range byteUnits {
		rest, ok := strings.CutSuffix(text, u.suffix)
		if n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64); ok && err == nil && n >= 0 && n*u.bytes < 1<<62 {
			return int64(n * u.bytes), nil
		}
	}
	return 0, fmt.Errorf("%q is not a size: write it as 20GB or 500MB", s)
}
