// Command assay-worker carries a plan out on a machine that has nothing but
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
