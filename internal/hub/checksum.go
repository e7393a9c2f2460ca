package hub

import (
	"crypto/sha1" //nolint:gosec // git names its blobs by it; nothing secret depends on it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
)

// checksum is what a file's bytes must add up to. The Hub gives SHA-256 for
// large files and git's own SHA-1 for small ones; a mirror may give neither.
type checksum struct {
	hex   string
	begin func(size int64) hash.Hash
}

// sumOf reads the checksum that a tag is.
func sumOf(tag string) checksum {
	b, err := hex.DecodeString(tag)
	switch {
	case err == nil && len(b) == sha256.Size:
		return checksum{tag, func(int64) hash.Hash { return sha256.New() }}
	case err == nil && len(b) == sha1.Size:
		return checksum{tag, gitBlob}
	}
	return checksum{}
}

// gitBlob is how git hashes a file: a line with its size comes first.
func gitBlob(size int64) hash.Hash {
	h := sha1.New() //nolint:gosec // see above
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// known reports whether there is something to compare with.
func (c checksum) known() bool { return c.hex != "" }

// matches reports whether the file adds up. It reads the file again, so that
// what is checked is what has reached the disk.
func (c checksum) matches(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil || !c.known() {
		return err == nil, err
	}
	h := c.begin(size)
	if _, err := io.Copy(h, f); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == c.hex, nil
}
