package weblab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"time"
)

// valid is how long a certificate of our own holds: longer than anybody leaves
// a lab open, and within what phones accept.
const valid = 30 * 24 * time.Hour

// NewCertificate makes a self-signed certificate for this machine: its name and
// all its addresses. Its key is never written to disk.
func NewCertificate(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Assay web lab"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(valid), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: names(), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, a := range addresses() {
		template.IPAddresses = append(template.IPAddresses, a.AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Names are those under which others on the same network may type this machine, and
// those that the user's own certificate holds for.
func Names(own *tls.Certificate) []string {
	out := names()
	if own != nil && own.Leaf != nil {
		out = append(out, own.Leaf.DNSNames...)
	}
	return out
}

// names are this machine's own, as others on the same network may type them.
func names() []string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return []string{"localhost"}
	}
	if strings.Contains(host, ".") {
		return []string{"localhost", host}
	}
	return []string{"localhost", host, host + ".local"}
}

// Fingerprint is what a browser shows of a certificate: SHA-256, in pairs.
func Fingerprint(c tls.Certificate) string {
	if len(c.Certificate) == 0 {
		return ""
	}
	sum := sha256.Sum256(c.Certificate[0])
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}
