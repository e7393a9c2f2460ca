package failure

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"assay/internal/cell"
)

// end is a row of the table of signals.
type end struct {
	signal int
	name   string
	what   string
	class  cell.FailureClass
}

// ends says what signals mean. What a program does to itself is a crash; what
// others send is the machine's business. Numbers differ between systems, so
// they are taken from this one, which is the one the child ran on.
var ends = []end{
	{int(syscall.SIGSEGV), "SIGSEGV", "segmentation fault", cell.Crash},
	{int(syscall.SIGABRT), "SIGABRT", "abort", cell.Crash},
	{int(syscall.SIGBUS), "SIGBUS", "bus error", cell.Crash},
	{int(syscall.SIGILL), "SIGILL", "illegal instruction", cell.Crash},
	{int(syscall.SIGFPE), "SIGFPE", "arithmetic error", cell.Crash},
	{int(syscall.SIGTRAP), "SIGTRAP", "trap", cell.Crash},
	{int(syscall.SIGKILL), "SIGKILL", "killed from outside", cell.Environment},
	{int(syscall.SIGTERM), "SIGTERM", "terminated from outside", cell.Environment},
	{int(syscall.SIGINT), "SIGINT", "interrupted", cell.Environment},
	{int(syscall.SIGHUP), "SIGHUP", "its terminal went away", cell.Environment},
	{int(syscall.SIGQUIT), "SIGQUIT", "quit from outside", cell.Environment},
	{int(syscall.SIGPIPE), "SIGPIPE", "wrote to a pipe that nobody reads", cell.Environment},
	{24, "SIGXCPU", "limit on CPU time", cell.Timeout}, // the same number on Linux and macOS; Windows has none
	{25, "SIGXFSZ", "limit on the size of a file", cell.Environment},
}

// shellStatus is what shells and containers add to a signal to make a status.
const shellStatus = 128

// ended judges by how the child ended, when nothing was said.
func ended(e Evidence) (finding, bool) {
	sig := e.Signal
	if sig == 0 && e.ExitStatus > shellStatus && known(e.ExitStatus-shellStatus) {
		sig = e.ExitStatus - shellStatus
	}
	switch {
	case e.Exception != "":
		return finding{}, false
	case e.OOMKilled:
		return finding{cell.OutOfMemory, "the kernel killed it when memory ran out" + inPhase(e)}, true
	case sig != 0:
		return signalled(e, sig), true
	case e.ExitStatus != 0:
		line := fmt.Sprintf("ended by itself with status %d and no report%s", e.ExitStatus, inPhase(e))
		return finding{cell.Crash, joinLine(line, lastLine(e.Log))}, true
	}
	return finding{}, false
}

// lastWords are what programs print when they give up.
var lastWords = regexp.MustCompile(`(?m)^(?:terminate called .+(?:\n\s*what\(\): .+)?|(?:free|malloc|realloc|munmap_chunk)\w*\(\): .+|double free or corruption.*|\*\*\* .+ \*\*\*: terminated|.*Assertion .+ failed.*|Fatal Python error: .+)$`)

// echoes are last output that only repeat the signal.
var echoes = regexp.MustCompile(`^Fatal Python error: (?:Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception)$`)

func signalled(e Evidence, sig int) finding {
	words := strings.Join(strings.Fields(lastWords.FindString(e.Log)), " ")
	if echoes.MatchString(words) {
		words = ""
	}
	for _, row := range ends {
		if row.signal == sig {
			line := fmt.Sprintf("%s (%s)%s", row.name, row.what, inPhase(e))
			return finding{row.class, joinLine(line, words)}
		}
	}
	return finding{cell.Crash, joinLine(fmt.Sprintf("ended by signal %d%s", sig, inPhase(e)), words)}
}

func known(sig int) bool {
	for _, row := range ends {
		if row.signal == sig {
			return true
		}
	}
	return false
}

func inPhase(e Evidence) string {
	if e.Phase == "" {
		return ""
	}
	return " in phase " + e.Phase
}

func joinLine(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}
