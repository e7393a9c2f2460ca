package weblab

import (
	"strings"

	"rsc.io/qr"
)

// quietZone is the empty border that readers of a code want, in modules.
const quietZone = 2

// QR draws an address as a code that a phone's camera reads, two rows of
// modules to a line of text, dark on light whatever the terminal's colours.
// What is too long for a code gives "".
func QR(text string) string {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return ""
	}
	black := func(x, y int) bool { return x >= 0 && y >= 0 && x < code.Size && y < code.Size && code.Black(x, y) }
	var b strings.Builder
	for y := -quietZone; y < code.Size+quietZone; y += 2 {
		b.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -quietZone; x < code.Size+quietZone; x++ {
			b.WriteString(halves[[2]bool{black(x, y), black(x, y+1)}])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}

// halves are the characters for two modules, one over the other.
var halves = map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}
