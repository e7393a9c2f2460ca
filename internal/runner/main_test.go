package runner

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// behaviour is the variable that makes this test binary a runner with one
// fault, so that the Go side can be tried without any other program.
const behaviour = "ASSAY_TEST_RUNNER"

func TestMain(m *testing.M) {
	if name := os.Getenv(behaviour); name != "" {
		behaviours[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const goodHello = `{"ev":"hello","protocol":1,"runner":"test","pid":2,"versions":{},"start":"fork","missing":{},"later":true}`

// behaviours are runners that keep the protocol except in one thing.
var behaviours = map[string]func(){
	"good":          func() { fmt.Println(goodHello); answer(finish) },
	"newer":         func() { fmt.Println(strings.Replace(goodHello, `"protocol":1`, `"protocol":2`, 1)); answer(finish) },
	"older":         func() { fmt.Println(strings.Replace(goodHello, `"protocol":1`, `"protocol":0`, 1)); answer(finish) },
	"no hello":      func() { fmt.Println(`{"ev":"exit","id":"1"}`); answer(finish) },
	"chatter":       func() { fmt.Println("Welcome to Python!"); answer(finish) },
	"long hello":    func() { fmt.Println(strings.Repeat("x", MaxLine+1)); answer(finish) },
	"dead at once":  func() { fmt.Fprintln(os.Stderr, "no torch for you"); os.Exit(3) },
	"never ready":   func() { time.Sleep(time.Hour) },
	"half a line":   func() { fmt.Print(goodHello[:20]) },
	"dies at a job": func() { fmt.Println(goodHello); answer(func(string) { die() }) },
	"dies after started": func() {
		fmt.Println(goodHello)
		answer(func(id string) { started(id); die() })
	},
	"spoilt by preload": spoilt,
	"unknown ev": func() {
		fmt.Println(goodHello)
		answer(func(id string) { fmt.Printf("{\"ev\":\"dance\",\"id\":%q}\n", id) })
	},
	"garbage":     func() { fmt.Println(goodHello); answer(func(string) { fmt.Println("\xff\xfe") }) },
	"unknown job": func() { fmt.Println(goodHello); answer(func(string) { finish("99") }) },
	"two exits":   func() { fmt.Println(goodHello); answer(func(id string) { finish(id); finish(id) }) },
	"two hellos":  func() { fmt.Println(goodHello); answer(func(string) { fmt.Println(goodHello) }) },
	"deaf":        func() { fmt.Println(goodHello); answer(started) }, // takes jobs, and never ends one
	"stubborn":    func() { fmt.Println(goodHello); answer(started); time.Sleep(time.Hour) },
	"mute":        func() { fmt.Println(goodHello); os.Stdout.Close(); time.Sleep(time.Hour) },
}

// spoilt has threads after an import before the fork, and can start no child.
func spoilt() {
	fmt.Println(goodHello)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		_, rest, ok := strings.Cut(lines.Text(), `{"op":"run","id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		switch {
		case ok && strings.Contains(rest, `"preload":true`):
			fmt.Printf("{\"ev\":\"exit\",\"id\":%q,\"status\":-1,\"start_error\":\"the runner has 2 threads\"}\n", id)
			return
		case ok:
			finish(id)
		}
	}
}

// answer reads requests until the input ends.
func answer(run func(id string)) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), `{"op":"run","id":"`); ok {
			id, _, _ := strings.Cut(rest, `"`)
			run(id)
		}
	}
}

func started(id string) { fmt.Printf("{\"ev\":\"started\",\"id\":%q,\"pid\":0,\"pgid\":0}\n", id) }

func finish(id string) {
	started(id)
	fmt.Printf("{\"ev\":\"exit\",\"id\":%q,\"status\":0,\"news\":1}\n", id)
}

func die() {
	fmt.Fprintln(os.Stderr, "I die")
	os.Exit(9)
}

// as is the command that starts this binary with one behaviour.
func as(t *testing.T, name string) Command {
	t.Helper()
	if behaviours[name] == nil {
		t.Fatalf("no behaviour %q", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: self, Env: append(os.Environ(), behaviour+"="+name)}
}
