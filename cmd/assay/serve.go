package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"

	"assay/internal/cell"
	"assay/internal/home"
	"assay/internal/session"
	"assay/internal/weblab"
	webpage "assay/runtimes/web/lab"

	"github.com/spf13/cobra"
)

// serveFlags are those of serve.
type serveFlags struct {
	carryFlags
	webLab  bool
	addr    string
	cert    string
	keyFile string
	open    bool
}

func serveCommand(a *app) *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve --web-lab [MODEL…]",
		Short: "Open a page where any browser, even a phone's, runs models and sends the results here",
		Long: `Serve --web-lab prints the address of a page. Whoever opens it chooses models and platforms (WebGPU, WebNN,
WebAssembly), and they run in that browser; the results go to this machine's journals, with the other
machine as their host. The thirteen key models, tiny, can be chosen unless others are named.
On any interface other than 127.0.0.1 it uses TLS, since browsers allow WebGPU only on secure pages.
Ctrl-C stops it.`,
		Example: `  assay serve --web-lab
  assay serve --web-lab bert vit --open
  assay serve --web-lab --addr 0.0.0.0:8443
  assay serve --web-lab --addr 0.0.0.0:8443 --cert lab.pem --cert-key lab-key.pem`,
		RunE: func(c *cobra.Command, args []string) error { return a.serve(c.Context(), f, args) },
	}
	addSelectors(c, &f.Selector)
	f.hubFlags.add(c)
	fs := c.Flags()
	fs.BoolVar(&f.webLab, "web-lab", false, "serve the web lab")
	fs.StringVar(&f.addr, "addr", "127.0.0.1:0", "where to listen: host:port; 0.0.0.0 is every interface, port 0 a free one")
	fs.StringVar(&f.cert, "cert", "", "certificate (PEM) that the other device trusts (default: a self-signed one, made now)")
	fs.StringVar(&f.keyFile, "cert-key", "", "its private key (PEM)")
	fs.BoolVar(&f.open, "open", false, "open the page in this machine's default browser")
	fs.StringVar(&f.Size, "size", "", "tiny or full (default: tiny for a type, full for a checkpoint)")
	fs.StringVar(&f.Weights, "weights", "", "random, hub, or a folder (default: hub for a checkpoint that is in the Hugging Face cache, else random)")
	fs.DurationVar(&f.timeout, "timeout", 0, "limit for one child (default 10m)")
	f.flags = fs
	return c
}

// serve serves until the user ends it.
func (a *app) serve(ctx context.Context, f *serveFlags, args []string) error {
	if !f.webLab {
		return usage("serve has no dashboard yet: it comes later. assay serve --web-lab opens a page that runs models in any browser")
	}
	if err := f.check(); err != nil {
		return err
	}
	certificate, err := f.certificate()
	if err != nil {
		return err
	}
	models, s, err := a.labModels(ctx, f, args)
	if err != nil {
		return err
	}
	defer s.Close()
	// Making environments may take minutes: whether anybody could come is known first.
	listener, err := weblab.Listen(ctx, f.addr)
	if err != nil {
		return usage("--addr: %w", err)
	}
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	l, err := weblab.ServeSession(ctx, s, dir, weblab.Options{Listener: listener, Certificate: certificate, Models: models, Files: webpage.Files(), Say: a.say})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := a.announce(l, len(models)); err != nil {
		return errors.Join(err, l.Close())
	}
	if f.open {
		defer openLab(a.home(), l.URLs()[0])()
	}
	<-ctx.Done()
	return l.Close()
}

// labModels are those that guests may choose, and the session that runs them.
func (a *app) labModels(ctx context.Context, f *serveFlags, args []string) ([]cell.Cell, *session.Session, error) {
	cat, err := a.catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.Key = f.Key || f.none(args)
	models, err := a.planner(&f.hubFlags, cat, nil).Models(ctx, f.request(args))
	if err != nil {
		return nil, nil, err
	}
	s, err := a.openSession(f.session(), cat)
	return models, s, err
}

// certificate is the user's own, if one was named.
func (f *serveFlags) certificate() (*tls.Certificate, error) {
	if f.cert == "" && f.keyFile == "" {
		return nil, nil
	}
	if f.cert == "" || f.keyFile == "" {
		return nil, usage("--cert and --cert-key must be given together")
	}
	c, err := tls.LoadX509KeyPair(f.cert, f.keyFile)
	if err != nil {
		return nil, usage("--cert, --cert-key: %w", err)
	}
	return &c, nil
}

// announce says where the lab is.
func (a *app) announce(l *weblab.Lab, models int) error {
	urls := l.URLs()
	fingerprint, own := l.Secure()
	if len(urls) == 0 {
		return errors.New("this machine has no address that another one could reach")
	}
	return a.print(serveAnswer{Schema: cell.Schema, URLs: urls, Fingerprint: fingerprint}, func(w io.Writer) error {
		for _, u := range urls {
			fmt.Fprintln(w, u)
		}
		if fingerprint != "" && a.colour {
			fmt.Fprintln(w, weblab.QR(urls[0]))
		}
		if own {
			a.say(fmt.Sprintf(ownCertificate, fingerprint))
		}
		a.say(fmt.Sprintf("Open the address in the browser that should run models: %d can be chosen. Ctrl-C stops.", models))
		return nil
	})
}

// openLab opens the lab in the user's browser; what it returns takes away what
// that needs. A browser that cannot be opened is not a failure of the lab.
func openLab(at home.Home, url string) func() {
	fails := func(err error) {
		if err != nil {
			at.Say(fmt.Sprintf("--open: no browser could be opened (%v): open the address yourself", err))
		}
	}
	folders, err := at.Folders()
	if err != nil {
		fails(err)
		return func() {}
	}
	o, err := weblab.WriteOpening(folders.Data, url)
	if err != nil {
		fails(err)
		return o.Remove
	}
	o.Open(fails)
	return o.Remove
}

// ownCertificate is what the user of a phone should know beforehand.
const ownCertificate = `The other device will warn that the connection is not private, because Assay has just made this certificate itself.
Its fingerprint (SHA-256) is %s:
compare it if you can, then choose "Advanced" or "Show Details", and go on to the page.`
