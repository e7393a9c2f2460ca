// Package keys says who may speak in a fleet. Everybody has a key pair of their
// own (an nkey: the server knows only the public half) and a role, from which the
// subjects follow that they may use: a worker speaks for itself alone and fetches
// tasks; a user sends sweeps and reads. A key that is revoked is cut off at once.
//
// What a worker or user is given is one file (Ticket): where to connect, the
// secret half, and the certificate by which they know the coordinator.
package keys

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/filelock"
	"assay/internal/fleet"
	"assay/internal/fleet/jetstream"
	"assay/internal/fleet/wire"
	"assay/internal/wholefile"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Role is what somebody may do.
type Role string

// The roles.
const (
	Worker Role = "worker"
	User   Role = "user"
)

// Key is somebody who may connect, as the coordinator knows them.
type Key struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Public  string    `json:"public"`
	Made    time.Time `json:"made"`
	Revoked bool      `json:"revoked,omitempty"`
}

// Ring is the keys of a fleet, in a file of the coordinator's folder.
type Ring struct {
	path string
	Keys []Key `json:"keys"`
}

// Open reads the ring of a coordinator's folder; there may be none yet.
func Open(dir string) (*Ring, error) {
	r := &Ring{path: filepath.Join(dir, "keys.json")}
	return r, r.read()
}

func (r *Ring) read() error {
	body, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the fleet's keys: %w", err)
	}
	var fresh Ring
	if err := json.Unmarshal(body, &fresh); err != nil {
		return fmt.Errorf("%s is damaged: %w", r.path, err)
	}
	r.Keys = fresh.Keys
	return nil
}

// patience is how long another program may take to change the keys.
const patience = 10 * time.Second

// change changes the keys as they are in the file now, and no other program does so meanwhile.
func (r *Ring) change(how func() error) (err error) {
	dir := filepath.Dir(r.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := filelock.Wait(context.Background(), filepath.Join(dir, "keys.lock"), filelock.Exclusive, patience, nil)
	if errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("another program has been changing the keys of %s for %s: wait until it has ended, then try again", dir, patience)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := r.read(); err != nil {
		return err
	}
	if err := how(); err != nil {
		return err
	}
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(r.path, append(body, '\n'), wholefile.Options{Mode: 0o600})
}

// Path is the ring's file.
func (r *Ring) Path() string { return r.path }

// Add makes a key for somebody new and returns its secret half, which is kept nowhere.
func (r *Ring) Add(name string, role Role, now time.Time) (seed string, err error) {
	if err := fleet.CheckName(name); err != nil {
		return "", err
	}
	if role != Worker && role != User {
		return "", fmt.Errorf("unknown role %q: the roles are worker and user", role)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return "", err
	}
	secret, err := pair.Seed()
	if err != nil {
		return "", err
	}
	return string(secret), r.change(func() error {
		if slices.ContainsFunc(r.Keys, func(k Key) bool { return k.Name == name && !k.Revoked }) {
			return fmt.Errorf("%s has a key already: revoke it first (assay fleet key revoke %s)", name, name)
		}
		r.Keys = append(r.Keys, Key{Name: name, Role: role, Public: public, Made: now.UTC()})
		return nil
	})
}

// Revoke takes somebody's key back.
func (r *Ring) Revoke(name string) error {
	return r.change(func() error {
		found := false
		for i := range r.Keys {
			if r.Keys[i].Name == name && !r.Keys[i].Revoked {
				r.Keys[i].Revoked, found = true, true
			}
		}
		if !found {
			return fmt.Errorf("nobody called %q has a key (see assay fleet key list)", name)
		}
		return nil
	})
}

// Rights are the subjects that a key may use.
type Rights struct {
	Public             string
	All                bool // the coordinator itself
	Publish, Subscribe []string
}

// Rights are those of everybody who may connect, and of the coordinator itself.
func (r *Ring) Rights(own string) []Rights {
	out := []Rights{{Public: own, All: true}}
	for _, k := range r.Keys {
		if !k.Revoked {
			out = append(out, rights(k))
		}
	}
	return out
}

// Inbox is the prefix of subjects for answers to somebody: nobody else hears them.
func Inbox(name string) string { return "_INBOX_" + name }

// rights are what follows from somebody's role.
func rights(k Key) Rights {
	publish := []string{wire.Office + "*." + k.Name}
	hear := []string{Inbox(k.Name) + ".>"}
	if k.Role == Worker {
		own := jetstream.Stream + "." + fleet.LaneOf(k.Name) // what is handed to others it cannot fetch
		publish = []string{
			"$JS.API.INFO", "$JS.API.CONSUMER.INFO." + own, "$JS.API.CONSUMER.MSG.NEXT." + own, "$JS.ACK." + own + ".>",
		}
		for _, what := range []string{"hello", "beat", "begin", "finish", "health"} {
			publish = append(publish, wire.Desk+what+"."+k.Name)
		}
		hear = append(hear, wire.News)
	}
	return Rights{Public: k.Public, Publish: publish, Subscribe: hear}
}

// Ticket is all that somebody needs to connect.
type Ticket struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Role Role   `json:"role"`
	Seed string `json:"seed,omitempty"` // secret
	CA   string `json:"ca,omitempty"`   // the coordinator's certificate, PEM
}

// Read reads a ticket's file, or takes a plain address for one without keys.
func Read(urlOrFile string) (Ticket, error) {
	if strings.Contains(urlOrFile, "://") {
		return Ticket{URL: urlOrFile}, checkAddress(urlOrFile)
	}
	body, err := os.ReadFile(urlOrFile)
	if err != nil {
		return Ticket{}, fmt.Errorf("%s is neither an address (nats://host:4222) nor a ticket's file: %w", urlOrFile, err)
	}
	var t Ticket
	if err := json.Unmarshal(body, &t); err != nil || t.URL == "" {
		return Ticket{}, fmt.Errorf("%s is not a ticket (make one with assay fleet key add NAME)", urlOrFile)
	}
	return t, checkAddress(t.URL)
}

// schemes are the ways in which NATS is spoken to.
var schemes = []string{"nats", "tls", "ws", "wss"}

// checkAddress says what is wrong with the address of a coordinator, or the addresses of a cluster: nobody would ever answer.
func checkAddress(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		whole := strings.TrimSpace(one)
		if !strings.Contains(whole, "://") { // all but the first may leave it out
			whole = schemes[0] + "://" + whole
		}
		u, err := url.Parse(whole)
		if err != nil || u.Hostname() == "" || !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("%q is not the address of a coordinator: it looks like nats://host:4222, or tls://host:4222", one)
		}
	}
	return nil
}

// For says what is wrong with a ticket that is to be used in a role. A plain address has none.
func (t Ticket) For(role Role) error {
	if t.Role == "" || t.Role == role {
		return nil
	}
	return fmt.Errorf("the ticket of %s is a %s's: make one with assay fleet key add NAME --role %s", t.Name, t.Role, role)
}

// From reads a ticket from a stream, up to the end of its line or value.
func From(r io.Reader) (Ticket, error) {
	var t Ticket
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&t); err != nil || t.URL == "" {
		return Ticket{}, errors.New("standard input begins with no ticket (make one with assay fleet key add NAME)")
	}
	return t, checkAddress(t.URL)
}

// Options are how a ticket's holder connects.
func (t Ticket) Options() ([]nats.Option, error) {
	var out []nats.Option
	if t.Seed != "" {
		pair, err := nkeys.FromSeed([]byte(t.Seed))
		if err != nil {
			return nil, fmt.Errorf("the ticket's key: %w", err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, err
		}
		out = append(out, nats.Nkey(public, pair.Sign))
	}
	if t.CA != "" {
		pool, err := pool(t.CA)
		if err != nil {
			return nil, err
		}
		out = append(out, nats.Secure(clientTLS(pool)))
	}
	return out, nil
}

// Connect connects as a ticket's holder.
func (t Ticket) Connect(o wire.Options) (*nats.Conn, error) {
	more, err := t.Options()
	if err != nil {
		return nil, err
	}
	o.Nats = append(o.Nats, more...)
	if t.Seed != "" {
		o.Inbox = Inbox(t.Name)
	}
	return wire.Connect(t.URL, o)
}

// Coordinator makes a key pair for one run of the coordinator.
func Coordinator() (public string, option nats.Option, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", nil, err
	}
	public, err = pair.PublicKey()
	return public, nats.Nkey(public, pair.Sign), err
}
