// Command interrupted opens a DuckDB file, asks a question that is cut off at another moment each time, and closes it,
// until opening it waits for ever.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

func ask(ctx context.Context, path string) error {
	c, err := duckdb.NewConnector(path, nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	_, err = db.ExecContext(ctx, "SELECT sum(range) FROM range(3000000)")
	return err
}

func main() {
	dir, err := os.MkdirTemp("", "interrupted")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.duckdb")
	for n := range 400 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*100*time.Microsecond)
		err := ask(ctx, path)
		cancel()
		opened := make(chan error)
		go func() { opened <- ask(context.Background(), path) }()
		select {
		case <-opened:
		case <-time.After(20 * time.Second):
			fmt.Printf("after question %d (%v) the file cannot be opened again\nshows\n", n, err)
			return
		}
	}
	fmt.Println("gone")
}
