package contribution

import (
	"strings"
	"testing"
)

// Nothing that tells a machine, a person or a folder is left in a text.
func TestScrub(t *testing.T) {
	t.Parallel()
	s := NewScrubber("max-muster", "build42.corp.example", "/home/mmuster")
	for text, want := range map[string]string{
		"cannot open /home/mmuster/models/x.bin: no such file":       "cannot open (path): no such file",
		"cannot open models/secret/x.bin":                            "cannot open (path)",
		"in ./x and ../y/z and ~/z and ~max/z":                       "in (path) and (path) and (path) and (path)",
		`from \\server\share\my models\x.onnx`:                       "from (path)",
		`from C:\Users\Max Muster\x.onnx`:                            "from (path)",
		`from "C:/Users/Max Muster/x.onnx" it`:                       `from (path) it`,
		`open 'my folder/a b.bin' now`:                               "open (path) now",
		`relative\windows\path.bin`:                                  "(path)",
		"https://user:pw@host/x and max@example.org":                 "(address) and (address)",
		"at 10.1.2.3:8080 and fe80:1:2:3::1":                         "at (address) and (address)",
		"on build42 by max-muster (mmuster)":                         "on (name) by (name) ((name))",
		"MAX-MUSTER's":                                               "(name)'s",
		"shape (BertModel, /opt/x/modeling_bert.py:7)":               "shape (BertModel, modeling_bert.py:7)",
		"two\nlines\tand /a":                                         "two lines and (path)",
		"off by 0.3, 9/10 of float16 (aten::add)":                    "off by 0.3, 9/10 of float16 (aten::add)",
		"/home/a/My Documents/secret plan.txt not found":             "(path) not found",
		"no route to node17.cluster.local or db1.corp.internal:5432": "no route to (address) or (address)",
		"host=worker-03 is gone, rank0@node17 too":                   "(name) is gone, (address) too",
		"with hf_abcdefghijkl":                                       "with (secret)",
		"NVIDIA H200":                                                "NVIDIA H200",
		"2.11.0+cu130":                                               "2.11.0+cu130",
		"file=/srv/data/x":                                           "file=(path)",
		"GPU-0d4f2a1e-1111-2222-3333-444455556666":                   "GPU-(id)",
	} {
		got := s.Line(text)
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if again := s.Line(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
}

// A path with spaces in it is taken whole, and what the sentence goes on with stays.
func TestPaths(t *testing.T) {
	t.Parallel()
	s := NewScrubber()
	for text, want := range map[string]string{
		"cannot load /mnt/My Disk/Old Models and more/b.onnx: bad magic number": "cannot load (path): bad magic number",
		"/home/a/My Life in Berlin":                                                      "(path)",
		"/home/a/Secret Plans does not exist, and fp16/int8 is not mixed":                "(path) does not exist, and fp16/int8 is not mixed",
		"copied /home/a/b to /home/c/d in 3 s":                                           "copied (path) to (path) in 3 s",
		"/home/a/b is not in models/x":                                                   "(path) is not in (path)",
		`C:\Users\Max Muster\a.bin is too large`:                                         "(path) is too large",
		`open C:/Users/Max Muster/My Models: access denied`:                              "open (path): access denied",
		`\\nas\My Share\x y.bin was not found`:                                           "(path) was not found",
		"opened '/home/a/it' and 'b c/d'":                                                "opened (path) and (path)",
		"File \"/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py\", line 3": "File functional.py, line 3",
		"/home/a/site-packages/x/modeling_bert.py:7":                                     "modeling_bert.py:7",
		"/home/add/MatMul":                                                               "(path)",
		"/projects/secret/x":                                                             "(path)",
		"the input/secret of a run":                                                      "the (path) of a run",
		"data/x":                                                                         "(path)",
		"see mycorp/secret-model":                                                        "see (path)",
		"~/x y/z":                                                                        "(path)",
	} {
		if got := s.Line(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What only looks like a path, an address or a secret stays: it says why something failed.
func TestInnocent(t *testing.T) {
	t.Parallel()
	s := NewScrubber("somebody")
	for _, text := range []string{
		"the input/output and/or q/k/v of fp16/int8, n/a", "12.5 tokens/s, 30 GB/s, 3ms/step, 1e-3/1e-5, ~0.5/1.0, 50%/70%, 12/24GB",
		"on cpu/onnxruntime and mps/coreml", "/encoder/layer.0/attention/MatMul_1_output_0 has no kernel", "it doesn't do q/k, and can't do k/v",
		`a '\n' and '\u2581the' and "\x00"`,
		"domain:com.ms.internal.nhwc", "threading.local and sklearn.cluster are missing", "google.protobuf.internal.builder", "self.net and transformer_blocks.0.ff.net.2.proj", "torch.nn.functional.scaled_dot_product_attention",
		"'_thread._local' object", "tensor.to(x.io)", "modeling_bert.py:7",
		"on the host: out of memory", "host: cannot allocate", "hostname=None, host=0", "onnxruntime-web@1.30.0 and x@0x7f00",
		"cuDNN version 9.1.0.70, qnn==2.31.0.25, driver 31.0.101.12", "999.1.2.3",
		"aten::add::out and c10::Error, at::native, [0:1:2:3]", "12:30:45:",
		"hf_device_map and hf_quantizer are set", "eos_token=2, pad_token='<pad>', token: 5, max_new_tokens=128", "sk-learn-and-others-too", "password=None", "basic understanding",
	} {
		if got := s.Line(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Nothing that tells a host, a person or a secret comes through.
func TestGuilty(t *testing.T) {
	t.Parallel()
	s := NewScrubber("somebody")
	for text, want := range map[string]string{
		"no answer of build7.example.com, db.corp.net:5432 or gpu-1.foo.io":        "no answer of (address), (address) or (address)",
		"connect to node17:29500 failed":                                           "connect to (address) failed",
		"from node-3.cluster and gateway.internal":                                 "from (address) and (address)",
		"at 10.1.2.3, [fe80::1%eth0]:80, ::1 and 00:1a:2b:3c:4d:5e":                "at (address), [(address)]:80, (address) and (address)",
		"host: worker-03 died":                                                     "(name) died",
		"max.muster@firma.de wrote":                                                "(address) wrote",
		"password=hunter2 api_key: 'abcdef' HF_TOKEN=abc123def456ghi":              "password=(secret) api_key: '(secret)' HF_TOKEN=(secret)",
		"Authorization: Bearer abc.def123":                                         "Authorization: Bearer (secret)",
		"sk-proj-1234567890abcd and ghp_abcdefghijkl1234 and AKIAABCDEFGHIJKLMNOP": "(secret) and (secret) and (secret)",
	} {
		got := s.Line(text)
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if again := (Scrubber{}).Line(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
}

// A user or a host that is called by an ordinary word costs no error its words: such a name is taken where a text says that
// it is one. Others are taken everywhere.
func TestNames(t *testing.T) {
	t.Parallel()
	ordinary, err := words(embedded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ names, text, want string }{
		{"max", "max_length is above the max of 5 (max)", ""},
		{"max", "user max, login=max, host 'max' and /home/max/x", "user (name), login=(name), host '(name)' and (path)"},
		{"gpu.nvidia.com", "NVIDIA L4: the GPU has no memory; com is left", ""},
		{"gpu.nvidia.com", "gpu.nvidia.com and nvidia.com", "(address) and (address)"},
		{"/Users/mmuster", "two users, Users and mmuster", "two users, Users and (name)"},
		{"/var/lib/jenkinsci", "the lib and var of jenkinsci", "the lib and var of (name)"},
		{"Linear Mustermann", "Linear has no kernel, Mustermann", "Linear has no kernel, (name)"},
		{`CORP\mmuster`, "mmuster's", "(name)'s"},
		{"bo", "bo and user bo", "bo and user (name)"},
		{"build42.fab7.example", "BUILD42 of fab7", "(name) of (name)"},
	} {
		if x.want == "" {
			x.want = x.text
		}
		if got := NewScrubber(x.names).sparing(ordinary).Line(x.text); got != x.want {
			t.Errorf("%s: %q became %q, want %q", x.names, x.text, got, x.want)
		}
	}
	// The atlas tells nobody: its errors stay as they are, but for files of libraries and addresses of pages.
	for _, text := range []string{"expected scalar type Float but found Double", "no exporter could write this model as a graph", "requires the natten library but it was not found in your environment"} {
		if got := NewScrubber("scalar", "graph", "library", "found").sparing(ordinary).Line(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The atlas has no name and no path in it: its texts stay as they are, but for the folders of libraries' files and
// for pages that they name.
func TestAtlasStays(t *testing.T) {
	t.Parallel()
	s, book, seen := NewScrubber("somebody"), embedded(t), map[string]bool{}
	for _, name := range book.Names() {
		claims, err := book.Claims(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			texts := []string{c.Note, c.Detail}
			for n, v := range c.Versions {
				texts = append(texts, n, v)
			}
			if c.Run != nil {
				texts = append(append(texts, c.Run.Host.CPU), c.Run.Host.Devices...)
			}
			for _, text := range texts {
				plain := strings.Join(strings.Fields(text), " ")
				if seen[text] || strings.Contains(text, "/modeling_") || strings.Contains(text, "://") || strings.Contains(text, ".com/") {
					continue
				}
				seen[text] = true
				if got := s.Line(text); got != plain && s.version(text) != plain {
					t.Errorf("%s on %s: %q became %q", name, c.Target, text, got)
				}
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("%d texts", len(seen))
	}
}

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{"/a b/c d.txt is in x/y: token=abc123def456", `'C:\a b' "it's \\x\y" host=a1 1.2.3.4:5`, "fe80::1 a@b.c node1.lan connect to x:99 (path) (name)"} {
		f.Add(seed)
	}
	f.Add(`from C:\Users\x "a/b" ~/c //d`)
	s := NewScrubber("somebody")
	f.Fuzz(func(t *testing.T, text string) {
		once := s.Line(text)
		if twice := s.Line(once); twice != once {
			t.Errorf("%q became %q and then %q", text, once, twice)
		}
		if again := (Scrubber{}).Line(once); again != once {
			t.Errorf("%q became %q, and %q for who receives it", text, once, again)
		}
		if strings.Contains(once, `\\`) || strings.Contains(once, "/home/") {
			t.Errorf("%q became %q", text, once)
		}
	})
}
