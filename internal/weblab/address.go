package weblab

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// loopback reports whether only this machine reaches an address: its browsers
// then trust plain HTTP.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// CheckAddress says in a sentence what is wrong with an address to listen on,
// as far as its form tells.
func CheckAddress(address string) error {
	_, err := hostOf(address)
	return err
}

func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("the address %q is not of the form host:port", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("the address %q has no port between 0 and 65535", address)
	}
	return host, nil
}

// URLs are where the lab is found, the likeliest first. A server on every
// interface is found under each of the machine's addresses.
func (l *Lab) URLs() []string {
	host, port, err := net.SplitHostPort(l.found.String())
	if err != nil {
		return nil
	}
	hosts := l.named()
	if len(hosts) == 0 {
		hosts = reached(host)
	}
	scheme := "http"
	if l.secure != nil {
		scheme = "https"
	}
	urls := make([]string, len(hosts))
	for i, h := range hosts {
		urls[i] = scheme + "://" + net.JoinHostPort(h, port) + "/lab/" + l.secret + "/"
	}
	return urls
}

// named are the names that the user's own certificate holds for.
func (l *Lab) named() []string {
	if l.secure == nil || l.o.Certificate == nil || l.secure.Leaf == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.secure.Leaf.DNSNames), func(name string) bool { return strings.Contains(name, "*") })
}

// reached are the addresses under which a listening host is found.
func reached(host string) []string {
	if a, err := netip.ParseAddr(host); err != nil || !a.IsUnspecified() {
		return []string{host}
	}
	var out []string
	for _, ip := range addresses() {
		out = append(out, ip.String())
	}
	return out
}

// Secure gives the fingerprint of the lab's certificate, and whether the lab
// made it itself; without TLS the fingerprint is "".
func (l *Lab) Secure() (fingerprint string, own bool) {
	if l.secure == nil {
		return "", false
	}
	return Fingerprint(*l.secure), l.o.Certificate == nil
}

// addresses are those of this machine under which others find it: IPv4 first,
// which is shorter to type.
func addresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var four, six []netip.Addr
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		switch ip := prefix.Addr().Unmap(); {
		case ip.IsLoopback(), ip.IsLinkLocalUnicast():
		case ip.Is4():
			four = append(four, ip)
		default:
			six = append(six, ip)
		}
	}
	return append(four, six...)
}
