// Command assay-worker runs a plan on a machine that has only
// Python, and writes the results as a journal for assay import. It is static
// and knows no database.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
