package detect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// Open reads a captured machine back: a Machine for [Look] and the children's
// answers, nil when the capture has none.
func Open(dir string) (*Machine, Answers, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not a captured machine (make one with detect --capture): %w", dir, err)
	}
	var head manifest
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, nil, fmt.Errorf("the manifest of the captured machine %s is damaged: %w", dir, err)
	}
	if head.Schema != Schema {
		return nil, nil, fmt.Errorf("the captured machine %s has schema %d and this program reads %d: use the version of Assay that made it, or capture again", dir, head.Schema, Schema)
	}
	tree, err := os.ReadFile(filepath.Join(dir, treeFile))
	if err != nil {
		return nil, nil, fmt.Errorf("the captured machine %s has no tree: %w", dir, err)
	}
	root, err := plant(txtar.Parse(tree), head)
	if err != nil {
		return nil, nil, fmt.Errorf("the tree of the captured machine %s is damaged: %w", dir, err)
	}
	return head.machine(root), head.Answers, nil
}

// Captured does both passes on a captured machine.
func Captured(dir string) (Report, error) {
	m, answers, err := Open(dir)
	if err != nil {
		return Report{}, err
	}
	return Judge(Look(m), answers), nil
}

// plant makes a file system of an archive. MapFS is the standard library's one
// file system in memory with links.
func plant(archive *txtar.Archive, head manifest) (fs.FS, error) {
	root := fstest.MapFS{}
	for _, f := range archive.Files {
		if !fs.ValidPath(f.Name) {
			return nil, fmt.Errorf("%q is not a valid path", f.Name)
		}
		root[f.Name] = &fstest.MapFile{Data: f.Data, Mode: 0o444}
	}
	for name, base := range head.Links {
		root[name] = &fstest.MapFile{Data: []byte(base), Mode: fs.ModeSymlink}
	}
	for _, name := range head.Dirs {
		root[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
	}
	return root, nil
}

func (head manifest) machine(root fs.FS) *Machine {
	return &Machine{
		OS: head.OS, Arch: head.Arch, Root: root, Native: head.Native,
		Env:  lookup(head.Env),
		Find: lookup(head.Paths),
		Command: func(_ context.Context, name string, args ...string) ([]byte, error) {
			out, ok := head.Commands[commandKey(name, args)]
			if !ok {
				return nil, errors.New("the command was not captured")
			}
			return []byte(out), nil
		},
	}
}

func lookup(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}
