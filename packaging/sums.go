package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aead.dev/minisign"
)

const (
	sumsFile       = "SHA256SUMS"
	signatureFile  = sumsFile + ".minisig"
	componentsFile = "assay.cdx.json"
)

// ours reports whether a file is one that is made here.
func ours(name string) bool {
	known := slices.Contains([]string{sumsFile, signatureFile, componentsFile}, name)
	packed := slices.ContainsFunc([]string{".tar.gz", ".zip", ".whl"}, func(s string) bool { return strings.HasSuffix(name, s) })
	return known || strings.HasPrefix(name, "assay-") && packed
}

// writeSums writes the checksums of all files, as sha256sum -c reads them, and
// signs them where there is a key. It returns the names of all files.
func (o order) writeSums() ([]string, error) {
	entries, err := os.ReadDir(o.out)
	if err != nil {
		return nil, err
	}
	var names []string
	var sums strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(o.out, e.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, e.Name())
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if err := os.WriteFile(filepath.Join(o.out, sumsFile), []byte(sums.String()), 0o644); err != nil {
		return nil, err
	}
	names = append(names, sumsFile)
	if o.key == "" {
		return names, nil
	}
	return append(names, signatureFile), o.sign([]byte(sums.String()))
}

// sign signs the checksums. The comment has the version and no time: the same
// bytes have the same signature.
func (o order) sign(sums []byte) error {
	key, err := minisign.PrivateKeyFromFile(o.secret, o.key)
	if err != nil {
		return fmt.Errorf("the key %s cannot be used (MINISIGN_PASSWORD decrypts it): %w", o.key, err)
	}
	signed := minisign.SignWithComments(key, sums, "assay "+o.version+" "+sumsFile, "signature of "+sumsFile)
	return os.WriteFile(filepath.Join(o.out, signatureFile), signed, 0o644)
}
