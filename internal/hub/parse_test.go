package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/hub/hubtest"
)

func TestParseRef(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Ref{
		"gpt2": {"gpt2", ""}, "owner/name": {"owner/name", ""}, "owner/na.me_1-x@v1.0": {"owner/na.me_1-x", "v1.0"},
		"o/n@refs/pr/1": {"o/n", "refs/pr/1"},
	} {
		if got, err := ParseRef(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "/", "../x", "a/../b", "/etc/passwd", "a/b/c", `a\b`, "a\x00b", "a/", "/a", ".hidden", "a b", "a/..", "a--b/c", "c:/x", "a\nb",
		"a@", "a@../x", "a@/x", "a@b//c", "a@b/", "a@-x", "a@b\\c", "a@b c", strings.Repeat("a", 97), "a@" + strings.Repeat("b", 201), "https://huggingface.co/a/b",
	} {
		if r, err := ParseRef(text); !IsKind(err, BadName) {
			t.Errorf("%q: got %+v, %v", text, r, err)
		}
	}
}

func TestParseListing(t *testing.T) {
	t.Parallel()
	sha, sum := strings.Repeat("a", 40), strings.Repeat("b", 64)
	l, err := parseListing([]byte(fmt.Sprintf(`{"sha":%q,"siblings":[{"rfilename":"config.json","size":2,"blobId":%q},{"rfilename":"d/m.safetensors","size":7,"blobId":"x","lfs":{"sha256":%q,"size":9}},{"rfilename":"bare"}]}`, sha, sha, sum)))
	if err != nil || len(l.Files) != 3 || l.Files[1].Size != 9 || l.Files[1].Tag != sum || !l.Files[1].Sum.known() || l.Files[2].Size != -1 || l.Files[2].Tag != "" {
		t.Errorf("got %+v, %v", l, err)
	}
	one := func(file string) string { return fmt.Sprintf(`{"sha":%q,"siblings":[%s]}`, sha, file) }
	for text, says := range map[string]string{
		``: "cannot be parsed", `[]`: "cannot be parsed", `{}`: "for a commit", `{"sha":"../../x"}`: "for a commit", `{"sha":"main"}`: "for a commit",
		one(`{"rfilename":"../x"}`):                              "file name",
		one(`{"rfilename":"/etc/passwd"}`):                       "file name",
		one(`{"rfilename":"a/../../x"}`):                         "file name",
		one(`{"rfilename":"a\\b"}`):                              "file name",
		one(`{"rfilename":"a\u0000b"}`):                          "file name",
		one(`{"rfilename":"c:x"}`):                               "file name",
		one(`{"rfilename":""}`):                                  "file name",
		one(`{"rfilename":"a//b"}`):                              "file name",
		one(`{"rfilename":"` + strings.Repeat("a", 256) + `"}`):  "file name",
		one(`{"rfilename":"x","size":-5}`):                       "-5 bytes",
		one(`{"rfilename":"x","size":99999999999999}`):           "bytes for the size",
		one(`{"rfilename":"x","size":1e300}`):                    "cannot be parsed",
		one(`{"rfilename":"x","blobId":"../y"}`):                 "the tag",
		one(`{"rfilename":"x","lfs":{"sha256":"a/b","size":1}}`): "the tag",
		one(`{"rfilename":"x","size":"large"}`):                  "cannot be parsed",
	} {
		if l, err := parseListing([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: got %+v, %v, want %q", text, l, err, says)
		}
	}
}

// FuzzListing: whatever a server answers, every path stays within the cache.
func FuzzListing(f *testing.F) {
	sha := strings.Repeat("a", 40)
	f.Add([]byte(`{"sha":"` + sha + `","siblings":[{"rfilename":"d/config.json","size":2,"blobId":"` + sha + `"}]}`))
	f.Add([]byte(`{"sha":"` + sha + `","siblings":[{"rfilename":"../x","lfs":{"sha256":"..","size":-1}}]}`))
	c := cache{"/cache"}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseListing(b)
		if err != nil {
			return
		}
		for _, r := range l.Files {
			inside := c.snapshot("o/n", l.Commit)
			if p := filepath.Join(inside, filepath.FromSlash(r.Name)); !strings.HasPrefix(p, inside+"/") {
				t.Fatalf("%q leads to %s", r.Name, p)
			}
			if p := c.blob("o/n", r.Tag); r.Tag != "" && filepath.Dir(p) != "/cache/models--o--n/blobs" {
				t.Fatalf("%q leads to %s", r.Tag, p)
			}
		}
	})
}

// FuzzRef: whatever is given, the folder of a name lies in the cache.
func FuzzRef(f *testing.F) {
	f.Add("owner/name@v1")
	f.Add("../x")
	c := cache{"/cache"}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			return
		}
		if p := c.ref(r); !strings.HasPrefix(p, "/cache/models--") || !strings.Contains(p, "/refs/") || strings.Contains(p, "..") {
			t.Fatalf("%q leads to %s", s, p)
		}
	})
}

// FuzzConfig: whatever a config.json holds, it is read or refused.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"model_type":"own","auto_map":{"AutoModel":"modeling_own.Own"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseConfig(b); err == nil && (c.Type == "" || !json.Valid(finite(b))) {
			t.Fatalf("got %+v", c)
		}
	})
}

// TestEvilNames: a server that names a file outside is refused, and nothing is
// written.
func TestEvilNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	f.server.Rename = map[string]string{"README.md": "../../../evil"}
	_, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, BadServer, "../../../evil")
	if _, err := os.Stat(f.cache); err == nil {
		t.Error("the cache was begun")
	}
	f.server.Break("list", hubtest.Fault{Whole: true})
	_, err = f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, BadServer, "cannot be parsed")
}

func TestReadConfig(t *testing.T) {
	t.Parallel()
	read := func(text string) (Config, error) {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadConfig(path, "the file")
	}
	c, err := read(`{"model_type":"own","auto_map":{"AutoConfig":"configuration_own.C","AutoModelForCausalLM":"o/other--modeling_own.M","AutoTokenizer":["a.B",null]}}`)
	if err != nil || c.Type != "own" || len(c.Code) != 2 {
		t.Errorf("got %+v, %v", c, err)
	}
	refuses(t, c.RefuseCode("the file", false), OwnCode, `"own", which transformers does not have`, "configuration_own.C", "--trust-remote-code")
	refuses(t, c.RefuseCode("the file", true), OwnCode, "code of another model")
	delete(c.Code, "AutoModelForCausalLM")
	if err := c.RefuseCode("the file", true); err != nil {
		t.Error(err)
	}
	c, err = read(`{"model_type":"ma\"mba NaN","time_step_limit":[0.0, Infinity, -Infinity, NaN]}`)
	if err != nil || c.Type != `ma"mba NaN` {
		t.Errorf("Python's numbers: %+v, %v", c, err)
	}
	for text, says := range map[string]string{
		`x`: "the file is not JSON", `[]`: "not a model's configuration", `{"model_type":1}`: "not a model's configuration", `{}`: "names no model_type",
		`{"model_type":""}`: "names no model_type", strings.Repeat(" ", maxConfig+1): "larger than 8 MB",
	} {
		_, err := read(text)
		refuses(t, err, BadConfig, says)
	}
	_, err = ReadConfig(filepath.Join(t.TempDir(), "absent"), "the file")
	refuses(t, err, BadConfig, "there is no the file")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("hf/token", "hf_file\n")
	other := write("other", "hf_other")
	type vars map[string]string
	for _, c := range []struct {
		vars                              vars
		cache, token, endpoint, forbidden string
	}{
		{vars{"HOME": dir}, dir + "/.cache/huggingface/hub", "", "https://huggingface.co", ""},
		{vars{"HOME": dir, "XDG_CACHE_HOME": "/xdg"}, "/xdg/huggingface/hub", "", "https://huggingface.co", ""},
		{vars{"HOME": dir, "HF_HOME": "~/hf"}, dir + "/hf/hub", "hf_file", "https://huggingface.co", ""},
		{vars{"HF_HOME": dir + "/hf", "HF_HUB_CACHE": "/c", "HF_TOKEN": " hf_variable "}, "/c", "hf_variable", "https://huggingface.co", ""},
		{vars{"HF_HOME": dir + "/hf", "HF_TOKEN_PATH": other}, dir + "/hf/hub", "hf_other", "https://huggingface.co", ""},
		{vars{"HF_HOME": dir + "/hf", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}, dir + "/hf/hub", "", "https://huggingface.co", ""},
		{vars{"HOME": dir, "HF_ENDPOINT": "http://mirror:8080/hf/", "HF_HUB_OFFLINE": "YES"}, dir + "/.cache/huggingface/hub", "", "http://mirror:8080/hf", "HF_HUB_OFFLINE"},
		{vars{"HOME": dir, "TRANSFORMERS_OFFLINE": "1", "HF_HUB_OFFLINE": "0"}, dir + "/.cache/huggingface/hub", "", "https://huggingface.co", "TRANSFORMERS_OFFLINE"},
	} {
		s, err := FromEnvironment(func(name string) string { return c.vars[name] })
		if err != nil || s.Cache != c.cache || string(s.Token) != c.token || s.Endpoint.String() != c.endpoint || s.Forbidden != c.forbidden {
			t.Errorf("%v: got %+v, %v", c.vars, s, err)
		}
	}
	for _, v := range []vars{
		{"HOME": "relative"}, {}, {"HOME": dir, "HF_ENDPOINT": "ftp://x"}, {"HOME": dir, "HF_ENDPOINT": "huggingface.co"}, {"HOME": dir, "HF_ENDPOINT": "https://u:secret@x?y"},
		{"HOME": dir, "HF_TOKEN": "hf_a\nb"}, {"HOME": dir, "HF_TOKEN_PATH": dir},
	} {
		_, err := FromEnvironment(func(name string) string { return v[name] })
		if refuses(t, err, BadSetting); strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hf_a") {
			t.Errorf("a secret is in %q", err)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	s := Settings{Token: "hf_secret"}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %q", s, s, s.Token, s.Token), string(b)} {
		if strings.Contains(text, "hf_secret") {
			t.Errorf("the token is in %q", text)
		}
	}
}

// TestRedirects: in circles, and from a safe connection to an open one.
func TestRedirects(t *testing.T) {
	t.Parallel()
	from := func(text string) *http.Request { return httptest.NewRequest(http.MethodGet, text, nil) }
	if err := redirect(from("http://b/"), []*http.Request{from("https://a/")}); err == nil {
		t.Error("from https to http")
	}
	if err := redirect(from("http://b/"), make([]*http.Request, 10)); err == nil {
		t.Error("eleven in a row")
	}
	for to, keeps := range map[string]bool{"https://a/y": true, "https://sub.a/": false, "https://a:444/": false, "https://b/": false} {
		req := from(to)
		req.Header.Set("Authorization", "Bearer x")
		if err := redirect(req, []*http.Request{from("https://a/x")}); err != nil || (req.Header.Get("Authorization") != "") != keeps {
			t.Errorf("%s: %v, %v", to, err, req.Header)
		}
	}
}

// TestNobodyThere: an address where nobody listens, and one that is not a name.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, text := range []string{gone.URL, "http://no-such-host.invalid"} {
		at, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		h := New(Options{Settings: Settings{Endpoint: at, Cache: t.TempDir()}, Patience: quick})
		_, err = h.Fetch(t.Context(), Ref{Model: org}, Want{})
		refuses(t, err, Unreachable, at.Host)
	}
}
