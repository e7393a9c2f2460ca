package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLinesComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z{}" ]{0,200}`)).Draw(t, "lines")
		var input strings.Builder
		for _, l := range lines {
			input.WriteString(l + "\n")
		}
		r := newLineReader(iotest.HalfReader(strings.NewReader(input.String())), 200)
		var got []string
		for {
			line, err := r.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, lines) {
			t.Fatalf("%q became %q", lines, got)
		}
	})
}

func TestLineLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		input io.Reader
		want  error
	}{
		{"just within", strings.NewReader(strings.Repeat("x", 100_000) + "\n"), nil},
		{"one over", strings.NewReader(strings.Repeat("x", 100_001) + "\n"), errLineTooLong},
		{"endless", endless{}, errLineTooLong},
		{"cut off", strings.NewReader(`{"ev":`), io.ErrUnexpectedEOF},
		{"nothing", strings.NewReader(""), io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := newLineReader(c.input, 100_000).next(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestDecode(t *testing.T) {
	t.Parallel()
	one, cpu := 1, 1.25
	for _, c := range []struct {
		line string
		want message
	}{
		{`{"ev":"started","id":"7","pid":5,"pgid":6}`, message{id: "7", event: Started{PID: 5, PGID: 6}}},
		{` {"ev":"phase","id":"7","name":"build","ms":1.5,"new":[1]}`, message{id: "7", event: Phase{"build", 1.5}}},
		{`{"ev":"timed","id":"7","state":"begin","runner_cpu_s":1.25}`, message{id: "7", event: Timed{"begin", &cpu}}},
		{`{"ev":"timed","id":"7","state":"end"}`, message{id: "7", event: Timed{"end", nil}}},
		{`{"ev":"point","id":"7","index":1,"report":{"sync":""}}`, message{id: "7", event: PointDone{1, json.RawMessage(`{"sync":""}`)}}},
		{`{"ev":"failure","id":"7","index":1,"phase":"first","type":"E","bases":["B"],"message":"m","traceback":"t"}`,
			message{id: "7", event: Failure{&one, "first", "E", []string{"B"}, "m", "t"}}},
		{`{"ev":"data","id":"7","data":{"a":1}}`, message{id: "7", event: Data{json.RawMessage(`{"a":1}`)}}},
		{`{"ev":"exit","id":"7","status":0,"signal":9,"killed":"timeout","usage":null,"log":"","log_bytes":0}`,
			message{id: "7", exit: &Exit{Signal: 9, Killed: "timeout"}}},
	} {
		got, err := decode([]byte(c.line))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(message{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `null`, `[]`, `"hello"`, `{}`, `{"ev":"exit"}`, `{"ev":"started","pid":1}`, `{"ev":"dance","id":"1"}`,
		`{"ev":"started","id":1}`, `{"ev":"phase","id":"1","ms":"long"}`, `{"ev":"phase","id":"1","ms":NaN}`,
		`{"ev":"hello","protocol":"one"}`, `{"ev":"exit","id":"1"} {}`, `{"ev":"exit","id":"1"`,
	} {
		if m, err := decode([]byte(line)); err == nil {
			t.Errorf("%s was taken as %+v", line, m)
		}
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exit Exit
		want Outcome
		text string
	}{
		{Exit{}, Finished, "ended with status 0"},
		{Exit{Status: 3}, Failed, "ended with status 3"},
		{Exit{Signal: 11}, Signalled, "ended by signal 11 (segmentation fault)"},
		{Exit{Signal: 9, Killed: "timeout"}, Killed, "was killed: timeout"},
		{Exit{Signal: 9, ProtocolError: "no JSON"}, BadProtocol, "broke the protocol: no JSON"},
		{Exit{Status: -1, StartError: "no memory"}, NotStarted, "never started: no memory"},
	} {
		if got := c.exit.Outcome(); got != c.want || !strings.HasPrefix(c.exit.String(), c.text) {
			t.Errorf("%+v is %s, %q, want %s, %q", c.exit, got, c.exit, c.want, c.text)
		}
	}
}

// FuzzLines feeds a runner's output to the reader and the decoder: whatever it
// is, they end, keep within the limit, and give either a message or an error.
func FuzzLines(f *testing.F) {
	f.Add([]byte(goodHello + "\n{\"ev\":\"exit\",\"id\":\"1\"}\n"))
	f.Add([]byte("{\"ev\":\"point\",\"id\":\"1\",\"index\":0,\"report\":{}}\r\n\n\xff\x00"))
	f.Add([]byte(`{"ev":"failure","id":"1","bases":[]}` + strings.Repeat(" ", 300)))
	f.Fuzz(func(t *testing.T, input []byte) {
		const most = 256
		r := newLineReader(bytes.NewReader(input), most)
		for {
			line, err := r.next()
			if err != nil {
				return
			}
			if len(line) > most || bytes.IndexByte(line, '\n') >= 0 {
				t.Fatalf("a line of %d bytes came through", len(line))
			}
			m, err := decode(line)
			if forms := btoi(m.hello != nil) + btoi(m.exit != nil) + btoi(m.event != nil); err == nil && forms != 1 {
				t.Fatalf("%q became %+v", line, m)
			}
			if p, ok := m.event.(PointDone); ok && err == nil {
				_, _ = p.Decode()
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
