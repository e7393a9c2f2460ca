// Package edition keeps the atlas that a user installed in the place of the one that the
// program carries: a file by a publisher, signed in the format of minisign.
//
// A file is looked at whole before anything is written: its signature by a key that
// the user or the program trusts, and every claim in it. Then it is put into a folder under
// the hash of its bytes, and a small file, current, comes to name it. Both appear
// whole or not at all, the name last: killed at any byte, the edition before it stays. Load
// gives the current edition, or nothing where there is none or where what lies there is
// not what was verified: then the program's own atlas answers.
package edition

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/atlas"
	"assay/internal/input"
	"assay/internal/wholefile"

	"aead.dev/minisign"
)

// The bounds of what is read, from files and from addresses.
const (
	Most          = 16 << 20 // bytes of an atlas
	MostSignature = 4 << 10
)

// Ending is that of a signature's file, beside the file that it signs.
const Ending = ".minisig"

// Key is a publisher's.
type Key = minisign.PublicKey

// mostKey is how large a file with a public key may be.
const mostKey = 4 << 10

// ParseKey reads a public key: its text, or the file that minisign writes.
func ParseKey(text string) (Key, error) {
	var k Key
	if b, err := read(text, mostKey); err == nil {
		text = string(b)
	}
	if err := k.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return k, errors.New("it is not a public key of minisign, nor a file with one")
	}
	return k, nil
}

// Verified is an edition whose signature and claims are right.
type Verified struct {
	Hash    string
	Key     string // the id of the key that signed it
	Comment string // that the publisher signed with it
	Book    *atlas.Book
	Quality atlas.Quality

	file, signature []byte
}

// SignatureError says that a file was not signed by a key that is trusted.
type SignatureError struct{ Keys int }

func (e *SignatureError) Error() string {
	if e.Keys == 0 {
		return "no publisher's key is known: give the public key with --key"
	}
	return "it was not signed by a key that is trusted, or was changed since: nothing is installed"
}

// Verify looks at a file and its signature. One of the keys must have signed it.
func Verify(file, signature []byte, keys ...Key) (Verified, error) {
	var v Verified
	signed := false
	for _, k := range keys {
		if minisign.Verify(k, file, signature) {
			v.Key, signed = fmt.Sprintf("%X", k.ID()), true
		}
	}
	if !signed {
		return v, &SignatureError{len(keys)}
	}
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err == nil {
		v.Comment = s.TrustedComment
	}
	book, q, err := Read(file)
	if err != nil {
		return v, err
	}
	v.Hash, v.Book, v.Quality, v.file, v.signature = hash(file), book, q, file, signature
	return v, nil
}

// Read opens an atlas and looks at every claim in it.
func Read(file []byte) (*atlas.Book, atlas.Quality, error) {
	book, err := atlas.Open(bytes.NewReader(file))
	if err != nil {
		return nil, atlas.Quality{}, fmt.Errorf("it is not an atlas: %w", err)
	}
	q, err := book.Quality()
	if err == nil && q.Types == 0 {
		err = errors.New("it has no types")
	}
	return book, q, err
}

func hash(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// Shelf is the folder of a user's editions.
type Shelf struct{ Dir string }

const current = "current"

func (s Shelf) path(hash string) string { return filepath.Join(s.Dir, hash+".jsonl.br") }

// Current is the hash of the edition in use; "" is the program's own.
func (s Shelf) Current() string {
	b, err := os.ReadFile(filepath.Join(s.Dir, current))
	name := strings.TrimSpace(string(b))
	if sum, bad := hex.DecodeString(name); err != nil || bad != nil || len(sum) != sha256.Size {
		return ""
	}
	return name
}

// Load opens the edition in use; nil where there is none. An error is one of what lies
// there: it is no reason to answer nothing.
func (s Shelf) Load() (*atlas.Book, error) {
	name := s.Current()
	if name == "" {
		return nil, nil
	}
	file, err := read(s.path(name), Most)
	if err != nil {
		return nil, err
	}
	if hash(file) != name {
		return nil, fmt.Errorf("the installed atlas %.12s was changed", name)
	}
	return atlas.Open(bytes.NewReader(file))
}

// Install puts an edition into use. What lies there stays in use until all of the new
// one is on the disk.
func (s Shelf) Install(v Verified) error {
	if v.Book == nil {
		return errors.New("it was not verified")
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	before := s.Current()
	durable := wholefile.Options{Mode: 0o644, Sync: true}
	for _, f := range []struct {
		path  string
		bytes []byte
	}{{s.path(v.Hash), v.file}, {s.path(v.Hash) + Ending, v.signature}, {filepath.Join(s.Dir, current), []byte(v.Hash + "\n")}} {
		if err := wholefile.Write(f.path, f.bytes, durable); err != nil {
			return err
		}
	}
	return s.clear(v.Hash, before)
}

// clear removes editions other than these.
func (s Shelf) clear(keep ...string) error {
	files, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name(), ".")
		if len(name) == 2*sha256.Size && name != keep[0] && name != keep[1] {
			err = errors.Join(err, os.Remove(filepath.Join(s.Dir, f.Name())))
		}
	}
	return err
}

// Reset goes back to the program's own atlas.
func (s Shelf) Reset() error {
	err := os.Remove(filepath.Join(s.Dir, current))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if _, gone := os.Stat(s.Dir); errors.Is(gone, fs.ErrNotExist) {
		return err
	}
	return errors.Join(err, s.clear("", ""))
}

func read(path string, limit int64) ([]byte, error) {
	return input.Read(context.Background(), path, nil, limit)
}
