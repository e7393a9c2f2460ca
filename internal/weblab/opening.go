package weblab

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openers are the commands that open a file in the user's browser.
var openers = map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}

// Opening is a page that leads on to an address, and the browser that opens it.
// The address is a secret: every user of a machine sees what others give to
// their commands, so that it is in a file that its owner alone reads.
type Opening struct{ file string }

const leadsOn = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s"><title>Assay web lab</title><a href="%[1]s">Assay web lab</a>
`

// WriteOpening writes the page into a folder of the user's.
func WriteOpening(folder, url string) (Opening, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Opening{}, err
	}
	f, err := os.CreateTemp(folder, "web-lab-*.html") // mode 0600
	if err != nil {
		return Opening{}, err
	}
	_, err = fmt.Fprintf(f, leadsOn, html.EscapeString(url))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return Opening{f.Name()}, err
}

// Open starts the user's browser. Whoever is told of its end hears why it could
// not be started, too.
func (o Opening) Open(ended func(error)) {
	with, ok := openers[runtime.GOOS]
	if !ok {
		with = []string{"xdg-open"}
	}
	cmd := exec.Command(with[0], append(with[1:], filepath.Clean(o.file))...) //nolint:noctx // a browser may stay when we go
	if err := cmd.Start(); err != nil {
		ended(err)
		return
	}
	go func() { ended(cmd.Wait()) }()
}

// Remove takes the page away.
func (o Opening) Remove() { _ = os.Remove(o.file) } // it leads nowhere once the lab is closed
