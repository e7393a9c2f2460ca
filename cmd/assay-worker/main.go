// Command assay-worker runs a plan on a machine that has only
// Python, and writes the results as a journal for assay import. It is static
// and knows no database.
package main

import (
	"context"
	"os"
	"runtime/debug"
)

// A worker's heap is a few megabytes: collected whenever it has doubled, as Go does unless told otherwise, it costs a third
// of the worker's processor time.
const garbage = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
