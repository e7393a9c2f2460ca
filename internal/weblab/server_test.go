package weblab

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSecrets: without the secret there is nothing; another site gets at most
// the way in; what is for children is not served here at all.
func TestSecrets(t *testing.T) {
	t.Parallel()
	l := serve(t, "127.0.0.1:0", nil)
	own := strings.TrimPrefix(l.URLs()[0], "http://"+l.found.String())
	for _, test := range []struct {
		method, path, site string
		status             int
	}{
		{"GET", own, "", http.StatusOK},
		{"GET", own, "cross-site", http.StatusOK},
		{"GET", own + "lab.mjs", "same-origin", http.StatusOK},
		{"GET", own + "lab.mjs", "cross-site", http.StatusForbidden},
		{"GET", own + "absent.mjs", "", http.StatusNotFound},
		{"GET", own + "socket", "cross-site", http.StatusForbidden},
		{"GET", own + "probe/guess/", "", http.StatusForbidden},
		{"POST", own + "probe/guess/answer", "", http.StatusForbidden},
		{"GET", "/lab/guess/", "", http.StatusForbidden},
		{"GET", "/lab/guess/lab.mjs", "", http.StatusForbidden},
		{"GET", "/lab/guess/socket", "", http.StatusForbidden},
		{"GET", "/", "", http.StatusForbidden},
		{"GET", "/pages/guess/", "", http.StatusForbidden},
		{"GET", "/pages/guess/socket", "", http.StatusForbidden},
		{"POST", "/visits/guess/call", "", http.StatusForbidden},
		{"GET", "/page/runner.html", "", http.StatusOK},
		{"GET", "/page/runner.html", "cross-site", http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+l.found.String()+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.site != "" {
			r.Header.Set("Sec-Fetch-Site", test.site)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := read(t, answer); status != test.status {
			t.Errorf("%s %s from %q: %d %s", test.method, test.path, test.site, status, text)
		}
	}
}

// TestForeigners: with the secret too, another site's page and another name than
// this machine's get nothing.
func TestForeigners(t *testing.T) {
	t.Parallel()
	l := serve(t, "127.0.0.1:0", nil)
	home := l.found.String()
	_, port, _ := net.SplitHostPort(home)
	for _, test := range []struct {
		host, origin string
		status       int
	}{
		{home, "", http.StatusOK},
		{home, "http://" + home, http.StatusOK},
		{"localhost:" + port, "http://localhost:" + port, http.StatusOK},
		{"192.168.1.2:8443", "", http.StatusOK}, // a phone behind a forwarded port
		{home, "https://evil.example", http.StatusForbidden},
		{home, "null", http.StatusForbidden},
		{home, "http://localhost:1", http.StatusForbidden},
		{"evil.example:" + port, "", http.StatusForbidden},
		{"evil.example:" + port, "http://evil.example:" + port, http.StatusForbidden},
		{"evil.example", "", http.StatusForbidden},
	} {
		for _, path := range []string{"/lab/" + l.secret + "/", "/lab/" + l.secret + "/lab.mjs", "/page/runner.html"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+home+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = test.host
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if status, _ := read(t, answer); status != test.status {
				t.Errorf("%s as %s from %q: %d, want %d", path, test.host, test.origin, status, test.status)
			}
		}
	}
}

// TestTLS: away from the loopback interface the lab speaks TLS, with a
// certificate for this machine's addresses.
func TestTLS(t *testing.T) {
	t.Parallel()
	l := serve(t, "0.0.0.0:0", nil)
	fingerprint, own := l.Secure()
	if !own || len(fingerprint) != 95 {
		t.Fatalf("it is not secure: %q", fingerprint)
	}
	leaf, err := x509.ParseCertificate(l.secure.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	for _, u := range l.URLs() {
		if !strings.HasPrefix(u, "https://") {
			t.Errorf("the address is %s", u)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		_, port, _ := strings.Cut(l.found.String(), "]:")
		address := "https://" + host + ":" + port + "/lab/" + l.secret + "/"
		r, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		if status, text := read(t, r); status != http.StatusOK || text != "<p>lab</p>" {
			t.Errorf("%s: %d %s", address, status, text)
		}
	}
	for _, a := range addresses() {
		if err := leaf.VerifyHostname(a.String()); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnCertificate: with a certificate of the user's own the lab goes by its
// names, and does not call it Assay's.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	c, err := NewCertificate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	c.Leaf.DNSNames = []string{"*.example.org", "lab.example.org"}
	l := &Lab{o: Options{Certificate: &c}, secure: &c, secret: "s", found: &net.TCPAddr{IP: net.IPv4zero, Port: 8443}}
	if diff := cmp.Diff([]string{"https://lab.example.org:8443/lab/s/"}, l.URLs()); diff != "" {
		t.Error(diff)
	}
	if fingerprint, own := l.Secure(); own || fingerprint == "" {
		t.Errorf("the certificate %s is said to be Assay's own", fingerprint)
	}
}

// TestOwnCertificateOnLoopback: a certificate that was given is used there too.
func TestOwnCertificateOnLoopback(t *testing.T) {
	t.Parallel()
	c, err := NewCertificate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	c.Leaf.DNSNames = []string{"lab.example.org"} // which leads elsewhere
	l := serveWith(t, "127.0.0.1:0", &c, nil)
	roots := x509.NewCertPool()
	roots.AddCert(c.Leaf)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	if len(l.URLs()) != 1 || !strings.HasPrefix(l.URLs()[0], "https://127.0.0.1:") {
		t.Fatalf("the addresses are %v", l.URLs())
	}
	r, err := client.Get(l.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, r); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.0.0.1": true, "127.1.2.3": true, "::1": true, "localhost": true, "": false, "0.0.0.0": false, "::": false, "192.168.1.5": false, "phone.local": false} {
		if got := loopback(host); got != want {
			t.Errorf("loopback(%q) is %t", host, got)
		}
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:99999", "256.1.1.1:0"} {
		if l, err := Listen(t.Context(), address); err == nil {
			t.Errorf("%q is an address: %v", address, l.Close())
		}
	}
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if l, err := Listen(t.Context(), taken.Addr().String()); err == nil {
		t.Errorf("%v is free and taken at once", l.Addr())
	}
}

// TestQR: a code has its border and two rows to a line; what is too long has none.
func TestQR(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(QR("https://192.168.1.5:8443/lab/ABC/"), "\n"), "\n")
	if len(lines) != (25+2*quietZone+1)/2 && len(lines) != (29+2*quietZone+1)/2 {
		t.Errorf("the code has %d lines", len(lines))
	}
	if !strings.Contains(lines[1], "█▀▀▀▀▀█") {
		t.Errorf("the finder pattern is missing in %q", lines[1])
	}
	if QR(strings.Repeat("x", 5000)) != "" {
		t.Error("a text of any length has a code")
	}
}
