package weblab

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

var errForeign = errors.New("this request was made for or by another site: open the address that assay printed")

// atHome refuses what another site's page asks for, and what came under a name
// that is not this machine's: such a name may be led here on purpose, so that a
// page of its owner counts as ours (DNS rebinding). Knowing the secret does not
// help. An address of numbers cannot be led anywhere.
func (l *Lab) atHome(next http.Handler) http.Handler {
	names := append([]string{"localhost"}, l.named()...)
	if own, err := os.Hostname(); err == nil {
		names = append(names, own, own+".local")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.knows(names, r.Host) || !sameSite(r) {
			http.Error(w, errForeign.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (l *Lab) knows(names []string, hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport // without a port
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, name := range names {
		if strings.EqualFold(name, host) {
			return true
		}
	}
	// The user's own certificate may hold for names with a star.
	return l.o.Certificate != nil && l.o.Certificate.Leaf != nil && l.o.Certificate.Leaf.VerifyHostname(host) == nil
}

// sameSite reports whether the page that asks, where there is one, is ours.
func sameSite(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false // "null" too: it is whose page does not want to say
		}
	}
	return len(origins) < 2
}
