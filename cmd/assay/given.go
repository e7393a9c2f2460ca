package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"assay/internal/input"
)

// given reads a file that a user named; wanted is what it should be. Naming something else is
// wrong usage, and the sentence says what to name. Without a stdin "-" is a file like any other.
func given(ctx context.Context, path, wanted string, stdin io.Reader, limit int64) ([]byte, error) {
	b, err := input.Read(ctx, path, stdin, limit)
	if path == input.Stdin && stdin != nil {
		path = "standard input"
	}
	if err != nil {
		return nil, unusable(path, wanted, err)
	}
	if len(b) == 0 {
		return nil, usage("%s is empty: name %s", path, wanted)
	}
	return b, nil
}

// unusable is why what a user named cannot be used.
func unusable(path, wanted string, err error) error {
	if path == "" {
		path = `""`
	}
	special, large, opening := (*input.SpecialError)(nil), (*input.LargeError)(nil), (*fs.PathError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return usage("there is no %s: name %s", path, wanted)
	case errors.Is(err, syscall.ELOOP):
		return usage("%s is a link that leads back to itself: name %s", path, wanted)
	case errors.Is(err, fs.ErrPermission):
		return usage("%s may not be read by you: change its permissions, or name %s", path, wanted)
	case errors.As(err, &special):
		return usage("%s is %s: name %s", path, special.Kind, wanted)
	case errors.As(err, &large):
		return usage("%w: name %s", err, wanted)
	case errors.As(err, &opening) && (opening.Op == "open" || opening.Op == "stat"):
		return usage("%s cannot be opened (%w): name %s", path, opening.Err, wanted)
	}
	return fmt.Errorf("%s cannot be read: %w", path, err)
}

// inFolder is an error where what a user named is no folder.
func inFolder(path, wanted string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return unusable(path, wanted, err)
	case !info.IsDir():
		return usage("%s is no folder: name %s", path, wanted)
	}
	return nil
}
