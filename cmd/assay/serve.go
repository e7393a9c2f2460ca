package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"assay/internal/cell"
	"assay/internal/dash"
	"assay/internal/dash/stored"
	"assay/internal/detect"
	"assay/internal/home"
	"assay/internal/pool"
	"assay/internal/site"
	"assay/internal/weblab"
	webdash "assay/runtimes/web/dash"
	webpage "assay/runtimes/web/lab"

	"github.com/spf13/cobra"
)

// serveFlags are those of serve.
type serveFlags struct {
	carryFlags
	poolFlags
	webLab  bool
	addr    string
	cert    string
	keyFile string
	tls     bool
	token   string
	open    bool
	watched string // the coordinator whose fleet is shown
	input   bool   // end with standard input
}

func serveCommand(a *app) *cobra.Command {
	f := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve [--web-lab [MODEL…]]",
		Short: "Open a page in the browser: what is known, runs as they go, models to try; and an HTTP API",
		Long: `Serve prints the address of a page that shows what changed, the matrix, models, platforms, machines, runs as they go,
comparisons, trends and reports, starts runs, and runs models that it keeps loaded. The same can be asked over HTTP:
/openapi.json describes it. Only this machine can reach it, unless --addr says otherwise: then every request needs the
token that is part of the printed address.

With --web-lab there is also a page for other devices: whoever opens it chooses models and platforms (WebGPU, WebNN,
WebAssembly), and they run in that browser; the results go to this machine's journals, with the other
machine as their host. The thirteen key models, tiny, can be chosen unless others are named.
With --web-lab, on any interface other than 127.0.0.1, it uses TLS, since browsers allow WebGPU only on secure pages.
Ctrl-C stops it.`,
		Example: `  assay serve
  assay serve --open
  assay serve --fleet nats://127.0.0.1:4222
  assay serve --addr 0.0.0.0:8443 --tls
  assay serve --web-lab
  assay serve --web-lab bert vit --open
  assay serve --web-lab --addr 0.0.0.0:8443
  assay serve --web-lab --addr 0.0.0.0:8443 --cert lab.pem --cert-key lab-key.pem`,
		RunE: func(c *cobra.Command, args []string) error { return a.serve(c.Context(), f, args) },
	}
	addSelectors(c, &f.Selector)
	f.hubFlags.add(c)
	fs := c.Flags()
	fs.BoolVar(&f.webLab, "web-lab", false, "serve the web lab too")
	fs.StringVar(&f.addr, "addr", "127.0.0.1:0", "where to listen: host:port; 0.0.0.0 is every interface, port 0 a free one")
	fs.StringVar(&f.cert, "cert", "", "certificate (PEM) that other devices trust; implies --tls")
	fs.StringVar(&f.keyFile, "cert-key", "", "its private key (PEM)")
	fs.BoolVar(&f.tls, "tls", false, "use TLS, with a certificate that is made now unless --cert names one")
	fs.StringVar(&f.token, "token", "", "what requests must bring (default: none on 127.0.0.1, elsewhere a new one)")
	fs.StringVar(&f.watched, "fleet", "", "show this coordinator's fleet too: an address (nats://host:4222) or a ticket's file")
	fs.BoolVar(&f.input, "until-input-ends", false, "end when standard input does, for programs that start it: it ends with them, even if they are killed")
	fs.BoolVar(&f.open, "open", false, "open the page in this machine's default browser")
	fs.StringVar(&f.Size, "size", "", "tiny or full (default: tiny for a type, full for a checkpoint)")
	fs.StringVar(&f.Weights, "weights", "", "random, hub, or a folder (default: hub for a checkpoint that is in the Hugging Face cache, else random)")
	fs.DurationVar(&f.timeout, "timeout", 0, "limit for one child (default 10m)")
	f.poolFlags.add(fs)
	f.flags = fs
	return c
}

// serving is what serve holds open.
type serving struct {
	app      *app
	flags    *serveFlags
	listener net.Listener
	own      *tls.Certificate // the user's
	secure   *tls.Certificate // nil without TLS
	token    string
	lab      *servedLab
	models   *pool.Pool // that are kept loaded
	dash     *dash.Server
	leave    func()       // the fleet
	server   *http.Server // nil where the web lab serves
	webLab   *weblab.Lab  // nil without one
}

// serve serves until the user ends it.
func (a *app) serve(ctx context.Context, f *serveFlags, args []string) (err error) {
	if !f.webLab && !f.none(args) {
		return usage("models are chosen with --web-lab: the page without it has all of them")
	}
	if err := errors.Join(f.carryFlags.check(), f.poolFlags.check()); err != nil {
		return err
	}
	s := &serving{app: a, flags: f}
	if s.own, err = f.certificate(); err != nil {
		return err
	}
	// Making environments may take minutes: whether anybody could come is known first.
	if s.listener, err = weblab.Listen(ctx, f.addr); err != nil {
		return usage("--addr: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.start(ctx, args); err != nil {
		return err
	}
	if err := s.announce(); err != nil {
		return err
	}
	if f.open {
		defer openLab(a.home(), s.urls()[0])()
	}
	select {
	case <-ctx.Done():
	case <-a.inputEnds(f.input):
	}
	return nil
}

// inputEnds tells of the end of standard input, if it is of interest.
func (a *app) inputEnds(wanted bool) <-chan struct{} {
	if !wanted {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin) // what cannot be read has ended
		close(ended)
	}()
	return ended
}

// start makes the parts and begins to answer.
func (s *serving) start(ctx context.Context, args []string) error {
	a, f := s.app, s.flags
	cat, err := a.catalog(ctx)
	if err != nil {
		return err
	}
	s.lab = &servedLab{app: a, flags: &f.hubFlags, catalog: cat}
	if err := s.lab.open(f.carryFlags); err != nil {
		return err
	}
	if s.models, err = a.openModels(s.lab, f.poolFlags); err != nil {
		return err
	}
	s.token = f.token
	if s.token == "" && !weblab.Loopback(s.listener.Addr()) {
		s.token = rand.Text()
	}
	options, err := s.options()
	if err != nil {
		return err
	}
	if options.Fleet, s.leave, err = a.watchFleet(f.watched); err != nil {
		return err
	}
	s.dash = dash.New(options)
	if f.webLab {
		return s.withWebLab(ctx, args)
	}
	l := s.listener
	if f.tls || s.own != nil {
		if l, err = s.overTLS(l); err != nil {
			return err
		}
	}
	s.server = s.dash.Serve(l)
	return nil
}

func (s *serving) options() (dash.Options, error) {
	a := s.app
	folders, err := a.home().FoldersToRead()
	if err != nil {
		return dash.Options{}, err
	}
	baselines, err := a.baselines()
	if err != nil {
		return dash.Options{}, err
	}
	book, err := a.book()
	if err != nil {
		return dash.Options{}, err
	}
	data := site.Server(s.lab.catalog, book, version)
	return dash.Options{
		Version: version, Catalog: s.lab.catalog, Past: stored.Past{Home: a.home(), Baselines: baselines, Now: time.Now, Asker: asker(a)}, Lab: s.lab, Models: caller{s.models},
		Gauge: gauge(detect.Live()), Site: webdash.Files(), Data: data, Reports: filepath.Join(folders.Data, "reports"),
		Token: s.token, Names: weblab.Names(s.own), Now: time.Now, Say: a.say,
	}, nil
}

func (s *serving) overTLS(plain net.Listener) (net.Listener, error) {
	s.secure = s.own
	if s.secure == nil {
		made, err := weblab.NewCertificate(time.Now())
		if err != nil {
			return nil, err
		}
		s.secure = &made
	}
	return tls.NewListener(plain, &tls.Config{Certificates: []tls.Certificate{*s.secure}, MinVersion: tls.VersionTLS12}), nil
}

// withWebLab serves the dashboard and, under its own secret address, the web lab.
func (s *serving) withWebLab(ctx context.Context, args []string) error {
	a, f := s.app, s.flags
	f.Key = f.Key || f.none(args)
	models, err := a.planner(&f.hubFlags, s.lab.catalog, nil).Models(ctx, f.request(args))
	if err != nil {
		return err
	}
	dir, err := a.home().JournalsToWrite(ctx)
	if err != nil {
		return err
	}
	s.webLab, err = weblab.ServeSession(ctx, s.lab.session, dir, weblab.Options{
		Listener: s.listener, Certificate: s.own, Models: models, Files: webpage.Files(), Rest: s.dash.Handler(), Say: a.say,
	})
	if err == nil {
		a.say(fmt.Sprintf("%d models can be chosen in the web lab", len(models)))
	}
	return err
}

// close ends what was started, in the order in which the parts need each other.
func (s *serving) close() error {
	var failed []error
	if s.server != nil {
		failed = append(failed, s.server.Close())
	}
	if s.webLab != nil {
		failed = append(failed, s.webLab.Close())
	}
	if s.dash != nil {
		failed = append(failed, s.dash.Close())
	}
	if s.leave != nil {
		s.leave()
	}
	if s.models != nil {
		failed = append(failed, s.models.Close())
	}
	if s.lab != nil {
		failed = append(failed, s.lab.Close())
	}
	if s.server == nil && s.webLab == nil {
		failed = append(failed, s.listener.Close())
	}
	return errors.Join(failed...)
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

// urls are where the pages are, the web lab's first.
func (s *serving) urls() []string {
	var out []string
	secure := s.secure != nil
	if s.webLab != nil {
		out = s.webLab.URLs()
		fingerprint, _ := s.webLab.Secure()
		secure = fingerprint != ""
	}
	return append(out, s.dashboards(secure)...)
}

// dashboards are the addresses of the dashboard.
func (s *serving) dashboards(secure bool) []string {
	out := weblab.Roots(s.listener.Addr(), secure, s.own)
	for i := range out {
		if s.token != "" {
			out[i] += "?token=" + url.QueryEscape(s.token)
		}
	}
	return out
}

// announce says where the pages are.
func (s *serving) announce() error {
	a, urls := s.app, s.urls()
	if len(urls) == 0 {
		return errors.New("this machine has no address that another one could reach")
	}
	fingerprint, made := "", false
	switch {
	case s.webLab != nil:
		fingerprint, made = s.webLab.Secure()
	case s.secure != nil:
		fingerprint, made = weblab.Fingerprint(*s.secure), s.own == nil
	}
	return a.print(serveAnswer{Schema: cell.Schema, URLs: urls, Fingerprint: fingerprint, Dashboard: s.dashboards(fingerprint != "")[0]}, func(w io.Writer) error {
		for _, u := range urls {
			fmt.Fprintln(w, u)
		}
		if fingerprint != "" && a.colour {
			fmt.Fprintln(w, weblab.QR(urls[0]))
		}
		if made {
			a.say(fmt.Sprintf(ownCertificate, fingerprint))
		}
		a.say("Open the address in a browser. Ctrl-C stops.")
		return nil
	})
}

// openLab opens a page in the user's browser; what it returns takes away what
// that needs. A browser that cannot be opened is not a failure of the server.
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

// ownCertificate is what the user of another device should know beforehand.
const ownCertificate = `The other device will warn that the connection is not private, because Assay has just made this certificate itself.
Its fingerprint (SHA-256) is %s:
compare it if you can, then choose "Advanced" or "Show Details", and go on to the page.`
