// Package wholefile writes files that appear complete or not at all. Each is made
// under another name in the same folder and then renamed, so that whoever reads
// the path sees what was there before or all of the new file, and a failure
// leaves neither a part of a file nor a temporary one behind.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Options say how a file is written. The zero value is right for a cache: for
// its user alone, and lost with the machine's power at worst.
type Options struct {
	// Mode are the file's permissions, whatever the umask; 0 is 0600.
	Mode fs.FileMode
	// Sync has the file's bytes on the disk before the file gets its name.
	Sync bool
	// New refuses, with fs.ErrExist, to replace a file. On a file system
	// without links it replaces anyway.
	New bool
}

// Write writes a file with these bytes.
func Write(path string, data []byte, o Options) error {
	return Stream(path, o, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// Stream writes a file with what write puts into it.
func Stream(path string, o Options, write func(*os.File) error) error {
	return Make(path, o, func(temp string) error {
		f, err := os.OpenFile(temp, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	})
}

// Make writes a file by letting fill write the one that it is given the path of,
// which is there and empty.
func Make(path string, o Options, fill func(temp string) error) (err error) {
	temp, err := create(path, o)
	if err != nil {
		return err
	}
	defer func() {
		// Nothing is left to remove after a rename.
		if gone := os.Remove(temp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := fill(temp); err != nil {
		return err
	}
	if o.Sync {
		if err := flush(temp); err != nil {
			return err
		}
	}
	return put(temp, path, o)
}

// create makes the temporary file beside the path.
func create(path string, o Options) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*")
	if err != nil {
		return "", err
	}
	if o.Mode != 0 {
		err = f.Chmod(o.Mode)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// flush brings a file to the disk.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // Windows flushes only what may be written
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sync %s to the disk: %w", path, err)
	}
	return nil
}

// put gives the finished file its name.
func put(temp, path string, o Options) error {
	if o.New {
		if err := os.Link(temp, path); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.Rename(temp, path)
}
