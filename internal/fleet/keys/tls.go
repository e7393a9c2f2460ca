package keys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"assay/internal/wholefile"
)

// age is how long a certificate of our own making is good.
const age = 10 * 365 * 24 * time.Hour

// Certificate is what a coordinator shows: the given files, or one of its
// own making, kept in its folder. pem is what others know it by.
func Certificate(dir, certFile, keyFile string, hosts []string, now time.Time) (c tls.Certificate, public string, err error) {
	if certFile != "" || keyFile != "" {
		if certFile == "" || keyFile == "" {
			return c, "", errors.New("a certificate and its key are given together")
		}
		c, err = tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return c, "", err
		}
		body, err := os.ReadFile(certFile)
		return c, string(body), err
	}
	certFile, keyFile = filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls-key.pem")
	body, err := os.ReadFile(certFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err := write(certFile, keyFile, hosts, now); err != nil {
			return c, "", err
		}
		body, err = os.ReadFile(certFile)
	}
	if err != nil {
		return c, "", err
	}
	c, err = tls.LoadX509KeyPair(certFile, keyFile)
	return c, string(body), err
}

// write writes a self-signed certificate and its key.
func write(certFile, keyFile string, hosts []string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "assay coordinator"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(age),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(certFile), 0o700); err != nil {
		return err
	}
	err = wholefile.Write(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), wholefile.Options{Mode: 0o600})
	if err != nil {
		return err
	}
	return wholefile.Write(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), wholefile.Options{Mode: 0o644})
}

func pool(text string) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM([]byte(text)) {
		return nil, fmt.Errorf("the ticket's certificate cannot be read")
	}
	return p, nil
}

func clientTLS(p *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: p, MinVersion: tls.VersionTLS12}
}

// ServerTLS is how a coordinator with a certificate listens.
func ServerTLS(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}
}
