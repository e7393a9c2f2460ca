package main

import (
	"fmt"
	"path/filepath"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/edition"
	"assay/internal/environment"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// book is the atlas in use: the one that the user installed, else the program's own. What is
// wrong with an installed one keeps nothing from being answered.
func (a *app) book() (*atlas.Book, error) {
	if shelf, err := a.shelf(); err == nil {
		book, err := shelf.Load()
		if book != nil {
			return book, nil
		}
		if err != nil && a.log != nil {
			a.log.Debug("the installed atlas cannot be used", "error", err)
		}
	}
	return atlas.Embedded()
}

// startReading opens the atlas beside what else is read meanwhile; the function waits
// for it.
func (a *app) startReading() func() (*atlas.Book, error) {
	type opened struct {
		book *atlas.Book
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		book, err := a.book()
		done <- opened{book, err}
	}()
	return func() (*atlas.Book, error) {
		o := <-done
		return o.book, o.err
	}
}

// shelf is the folder of installed atlases. It need not be there.
func (a *app) shelf() (edition.Shelf, error) {
	f, err := environment.FindFolders(a.getenv)
	return edition.Shelf{Dir: filepath.Join(f.Data, "atlas")}, err
}

// published is what the atlas says of types, by platform; nil where it cannot be
// read: no other command fails for it.
func (a *app) published() func(string) map[platform.Name]matrix.Published {
	book, err := a.book()
	if err != nil {
		a.log.Debug("the atlas cannot be read", "error", err)
		return nil
	}
	var targets []string
	for _, p := range platform.Names() {
		targets = append(targets, string(p))
	}
	return func(modelType string) map[platform.Name]matrix.Published {
		answer, err := book.Ask(atlas.Model{Name: modelType, Type: modelType}, targets, nil)
		if err != nil {
			return nil
		}
		out := map[platform.Name]matrix.Published{}
		for _, l := range answer.Targets {
			if l.Known() {
				out[platform.Name(l.Target)] = matrix.Published{Target: l.Target, DType: l.DType, Verdict: l.Verdict, Evidence: l.Evidence, Class: l.Class, Why: l.Reason(), At: l.At}
			}
		}
		return out
	}
}

// ruledOut is why auto passes over a target for a type: a run that was published, or one of
// the user's own, fails there in every dtype. Own results speak first.
func (a *app) ruledOut(modelType string, t platform.Target) string {
	book, err := a.book()
	if err != nil || t.Platform == platform.CPU {
		return ""
	}
	m := atlas.Model{Name: modelType, Type: modelType}
	own, _ := a.ownResults([]atlas.Model{m})
	answer, err := book.Ask(m, []string{t.String()}, own)
	if err != nil {
		return ""
	}
	l := answer.Targets[0]
	if l.Verdict != cell.Fails || l.Evidence != cell.Measured && l.Evidence != cell.Emulated || l.Source != atlas.FromAtlas {
		return ""
	}
	return fmt.Sprintf("the atlas says that it fails there (%s, %s, %s); --platform %s tries it", l.Evidence, l.Class, l.At.Format("2006-01-02"), t)
}

// atlasState says what is published of a platform, for doctor.
func (a *app) atlasState(asked platform.Name) (string, error) {
	book, err := a.book()
	if err != nil {
		return "", err
	}
	q, err := book.Quality()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("published results of %d types, transformers %s, the newest of %s", q.Types, q.Transformers, q.Newest.Format("2006-01-02"))
	for _, p := range q.Platforms {
		if p.Platform == asked {
			text += fmt.Sprintf("; atlas of %s: %s", asked, p)
		}
	}
	return text, nil
}
