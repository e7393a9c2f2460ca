package failure

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`File "/home/ada/.cache/x.py", line 3`:             `File "~/.cache/x.py", line 3`,
		`/root/.cache and /rooted`:                         `~/.cache and /rooted`,
		`/Users/ada.l/models`:                              `~/models`,
		`C:\Users\ada\models`:                              `~\models`,
		`token hf_abcdefghijklmnopqrstuvwxyzABCDEF is bad`: `token hf_… is bad`,
		`Authorization: Bearer abc.def-ghi_jkl`:            `Authorization: Bearer …`,
		`https://ada:secret@hub.example/x`:                 `https://…@hub.example/x`,
		`https://s3.example/f?X-Amz-Signature=00ff&b=2 x`:  `https://s3.example/f?… x`,
		`HF_TOKEN=hunter22 python x.py`:                    `HF_TOKEN=… python x.py`,
		`tokens=16 seen, 0x7f11 kept, hf_hub_download(`:    `tokens=16 seen, 0x7f11 kept, hf_hub_download(`,
	} {
		if got := scrub(in); got != want {
			t.Errorf("scrub(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m text":                             "red text",
		"Loading:   0%\rLoading:  50%\rLoading: 100%\ndone\r\n": "Loading: 100%\ndone\n",
		"nul\x00 and bell\x07":                                  "nul and bell",
		"bad \xff utf8":                                         "bad \ufffd utf8",
		"tab\tstays":                                            "tab\tstays",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	long := "head" + strings.Repeat("é", 1<<16) + "tail"
	got := bound(long, 1000)
	if !strings.HasPrefix(got, "head") || !strings.HasSuffix(got, "tail") || !strings.Contains(got, "bytes left out") {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 400).Draw(t, "times"))
		most := rapid.IntRange(300, 5000).Draw(t, "most")
		got := bound(text, most)
		if len(got) > most || !utf8.ValidString(got) || (len(text) <= most && got != text) {
			t.Errorf("%d bytes to %d gave %d", len(text), most, len(got))
		}
	})
}

func TestNormal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"at /venv/lib/python3.11/site-packages/torch/nn/linear.py now": "at torch/nn/linear.py now",
		`C:\Python\Lib\site-packages\torch\nn\linear.py`:               `torch\nn\linear.py`,
		"<function f at 0x7fa26ba04900> and 0xdeadbeef":                "<function f> and 0x…",
		"open '/srv/data/m/model.safetensors'":                         "open '…/model.safetensors'",
		"see https://pytorch.org/docs/stable/x.html":                   "see https://pytorch.org/docs/stable/x.html",
		"401 Client Error. (Request ID: Root=1-68;b9)":                 "401 Client Error.",
		"size (3/4) and a/b":                                           "size (3/4) and a/b",
	} {
		if got := normal(in); got != want {
			t.Errorf("normal(%q) = %q, want %q", in, got, want)
		}
	}
}

// The log keeps the traceback, once, and nothing of the user.
func TestLogHoldsTheTraceback(t *testing.T) {
	t.Parallel()
	trace := "Traceback (most recent call last):\n  File \"/home/ada/x.py\", line 1, in f\nValueError: odd"
	for _, log := range []string{"", "printed\n", "printed\n" + trace + "\n", strings.Repeat("noise\n", MaxLog)} {
		got := Classify(Evidence{Exception: "ValueError", Message: "odd", Traceback: trace, Log: log}).Log
		if strings.Count(got, "ValueError: odd") != 1 || strings.Contains(got, "ada") || len(got) > MaxLog {
			t.Errorf("log of %d bytes: %.80q", len(got), got)
		}
	}
}
