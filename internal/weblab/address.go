package weblab

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Loopback reports whether only this machine reaches a listening address.
func Loopback(a net.Addr) bool {
	host, _, err := net.SplitHostPort(a.String())
	return err == nil && loopback(host)
}

// loopback reports whether only this machine reaches an address: its browsers
// then trust plain HTTP.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Listen takes an address, host:port, for a lab before anything else is made for
// it; port 0 is a free one.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address %q is not of the form host:port", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("the address %q has no port between 0 and 65535", address)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("nothing can listen on %s: %w", address, err)
	}
	return listener, nil
}

// alone reports whether only this machine reaches the lab.
func (l *Lab) alone() bool { return Loopback(l.found) }

// URLs are where the lab is found, the likeliest first. A server on every
// interface is found under each of the machine's addresses.
func (l *Lab) URLs() []string {
	urls := Roots(l.found, l.secure != nil, l.o.Certificate)
	for i := range urls {
		urls[i] += "lab/" + l.secret + "/"
	}
	return urls
}

// Roots are the addresses under which a server is found that listens on one, the
// likeliest first. own is the user's certificate; nil where there is none.
func Roots(at net.Addr, secure bool, own *tls.Certificate) []string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil
	}
	hosts := named(at, own)
	if len(hosts) == 0 {
		hosts = reached(host)
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	urls := make([]string, len(hosts))
	for i, h := range hosts {
		urls[i] = scheme + "://" + net.JoinHostPort(h, port) + "/"
	}
	return urls
}

func (l *Lab) named() []string { return named(l.found, l.o.Certificate) }

// named are the names that the user's own certificate holds for.
func named(at net.Addr, own *tls.Certificate) []string {
	if own == nil || own.Leaf == nil {
		return nil
	}
	alone := Loopback(at)
	return slices.DeleteFunc(slices.Clone(own.Leaf.DNSNames), func(name string) bool {
		return strings.Contains(name, "*") || alone && !loopback(name) // which leads elsewhere
	})
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
