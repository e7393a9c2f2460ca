// Command assay answers, for any Hugging Face model and any of eight hardware
// platforms: does it really work there, how well, and how do you know?
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), system(), os.Args[1:]))
}
