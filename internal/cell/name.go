package cell

import (
	"fmt"
	"strings"
)

// CheckName says what is wrong with a name for a run or a baseline, if anything. A
// name is also a file's, and may not look like the other things that a side of a
// comparison is called by.
func CheckName(name string) error {
	const most = 64
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case len(name) > most, strings.ContainsFunc(name, bad), strings.ContainsAny(name[:1], ".-"):
		return fmt.Errorf("%.80q cannot be a name: names are up to %d letters, digits, dots, dashes and underscores, and begin with a letter or a digit", name, most)
	}
	return nil
}

// CheckNewName says what is wrong with a name that is to be given: latest and previous
// are words for runs already, which it would hide.
func CheckNewName(name string) error {
	if name == "latest" || name == "previous" {
		return fmt.Errorf("%q cannot be a name: it is the word for a run", name)
	}
	return CheckName(name)
}
