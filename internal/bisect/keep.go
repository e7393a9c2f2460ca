package bisect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"assay/internal/wholefile"
)

// Keep is a Lab whose answers are kept in the file at path: what was answered there is
// not asked again. The caller names the file by all that an answer depends on. A file
// that cannot be read as answers is an error, and is left alone.
func Keep(lab Lab, path string) (Lab, error) {
	k := &keeper{lab: lab, path: path, kept: keptFile{Schema: 1, Answers: map[string]Answer{}}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		k.kept = keptFile{}
		err = json.Unmarshal(text, &k.kept)
	}
	if err == nil && (k.kept.Schema != 1 || k.kept.Answers == nil) {
		err = fmt.Errorf("its schema is %d", k.kept.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("the kept answers in %s cannot be read; remove the file to ask again: %w", path, err)
	}
	return k, nil
}

type keptFile struct {
	Schema  int               `json:"schema"`
	Answers map[string]Answer `json:"answers"` // by release
}

type keeper struct {
	lab  Lab
	path string
	kept keptFile
}

// Try implements Lab.
func (k *keeper) Try(ctx context.Context, release string) (Answer, error) {
	if a, ok := k.kept.Answers[release]; ok {
		a.Kept = true
		return a, nil
	}
	a, err := k.lab.Try(ctx, release)
	if err != nil || a.Fleeting {
		return a, err
	}
	a.Release = release
	k.kept.Answers[release] = a
	text, err := json.MarshalIndent(k.kept, "", "  ")
	if err != nil {
		return a, err
	}
	return a, wholefile.Write(k.path, append(text, '\n'), wholefile.Options{})
}
