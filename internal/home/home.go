// Package home finds where a user's data are: the folders, the database and its
// journals, and what can be asked about them. Every command that keeps or reads
// results comes to them here. Nothing is opened or made before it is needed.
package home

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/exports"
	"assay/internal/history"
	"assay/internal/journal"
	"assay/internal/store"
)

// Home is a user's.
type Home struct {
	Getenv func(string) string
	DB     string       // the database that the user named; "" is the one in the data folder
	Say    func(string) // hears why a call takes long; nil is nobody
}

// Folders are where the user's data, caches and settings are. They are made.
func (h Home) Folders() (environment.Folders, error) {
	f, err := environment.FindFolders(h.Getenv)
	if err != nil {
		return f, err
	}
	return f, f.Create()
}

// FoldersToRead are the same for a command that only looks: a home that cannot
// be written still answers.
func (h Home) FoldersToRead() (environment.Folders, error) {
	f, err := h.Folders()
	if store.IsReadOnly(err) {
		return f, nil
	}
	return f, err
}

// Paths are the database and the folder of its journals.
func (h Home) Paths() (db, journals string, err error) {
	if h.DB != "" {
		return h.DB, h.DB + ".journals", nil
	}
	f, err := h.FoldersToRead() // whatever writes there makes the folder itself
	if err != nil {
		return "", "", err
	}
	db, journals = inFolder(f)
	return db, journals, nil
}

// Kept reports whether there is a database, or a journal, to ask about past results.
// It makes no folder and opens neither.
func (h Home) Kept() bool {
	db, journals := h.DB, h.DB+".journals"
	if h.DB == "" {
		f, err := environment.FindFolders(h.Getenv)
		if err != nil {
			return false
		}
		db, journals = inFolder(f)
	}
	if _, err := os.Stat(db); err == nil {
		return true
	}
	files, err := filepath.Glob(filepath.Join(journals, "*"+journal.Extension))
	return err == nil && len(files) > 0
}

func inFolder(f environment.Folders) (db, journals string) {
	return filepath.Join(f.Data, "assay.duckdb"), filepath.Join(f.Data, "journals")
}

// Store is the index over the journals.
func (h Home) Store() (*store.Store, error) {
	db, journals, err := h.Paths()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(db, journals)
	if err == nil {
		st.Waiting = h.Say
	}
	return st, err
}

// History answers questions about past results.
func (h Home) History() (*history.History, error) {
	st, err := h.Store()
	if err != nil {
		return nil, err
	}
	return history.In(st), nil
}

// Times are those that a host has of a plan's model types; see history.Times.
func (h Home) Times(ctx context.Context, host string, plan cell.Plan) ([]cell.Time, error) {
	past, err := h.History()
	if err != nil {
		return nil, err
	}
	return past.Times(ctx, host, plan)
}

// Exports are the cached exports of models.
func (h Home) Exports() (exports.Cache, error) {
	f, err := h.Folders()
	return exports.Cache{Dir: f.Exports()}, err
}

// JournalsToWrite is the folder that results go into. Where the user named the
// database, it is looked at first: results are put beside no other program's file.
func (h Home) JournalsToWrite(ctx context.Context) (string, error) {
	st, err := h.Store()
	if err != nil {
		return "", err
	}
	if h.DB != "" {
		if err := st.Writable(ctx); err != nil {
			return "", err
		}
	}
	return st.Journals(), nil
}

// DatabaseState says how much the database holds.
func (h Home) DatabaseState(ctx context.Context) (string, error) {
	if !store.Indexed {
		return "this assay was built without DuckDB: past results are read from the journals, and SQL is not available", nil
	}
	st, err := h.Store()
	if err != nil {
		return "", err
	}
	rows, err := st.Query(ctx, "select count(*) as n from hardware_results")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%v results in %s", rows.Values[0][0], st.Path()), nil
}

// JournalState says how much the journals hold. The first that cannot be read
// is the error.
func (h Home) JournalState(context.Context) (string, error) {
	_, dir, err := h.Paths()
	if err != nil {
		return "", err
	}
	files, lines, err := journal.Count(dir)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s with %s in %s", number(files, "journal"), number(lines, "line"), dir), nil
}

func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
