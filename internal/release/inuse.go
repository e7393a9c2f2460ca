// Package release tells which transformers the environment in use has, which
// catalogue describes it, and what two sides that a user names to be compared
// are. A catalogue is the embedded one or one whose types were read before
// (catalog.Kept); reading them again takes a minute or two and is done only when
// it is asked for.
package release

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/wholefile"
)

// InUse is the environment that a user chose, and the release of transformers in
// it. It is not for concurrent use.
type InUse struct {
	// Find is the environment, if there is one: it installs nothing. It is asked
	// for once, since a user's own Python must be started to tell.
	Find func(context.Context) (environment.Environment, error)
	// Read reads the types of its transformers by introspection.
	Read func(context.Context, *catalog.Catalog) (json.RawMessage, error)
	Kept catalog.Kept
	Say  func(string)
	Log  *slog.Logger

	found *environment.Environment
}

// Environment is the environment in use.
func (u *InUse) Environment(ctx context.Context) (environment.Environment, error) {
	if u.found != nil {
		return *u.found, nil
	}
	env, err := u.Find(ctx)
	if err == nil {
		u.found = &env
	}
	return env, err
}

// Name is the release of transformers; "" without one.
func (u *InUse) Name(ctx context.Context) string {
	env, err := u.Environment(ctx)
	if err != nil {
		return ""
	}
	return env.Versions["transformers"]
}

// Catalog is the embedded one, or that of the environment in use where it has
// another release of transformers and its types were read before.
func (u *InUse) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	embedded, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	release := u.Name(ctx)
	if release == "" {
		return embedded, nil // without an environment, what is embedded is what is known
	}
	cat, known, err := u.Kept.Find(embedded, release)
	if err == nil && !known {
		u.Log.Info("the environment has another transformers; its own types are read by \"assay models --refresh\"", "environment", release, "catalogue", embedded.Transformers)
		return embedded, nil
	}
	return cat, err
}

// Refresh reads the types of the environment in use and keeps them.
func (u *InUse) Refresh(ctx context.Context) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	u.Say("reading the model types of the installed transformers; this takes a minute or two")
	b, err := u.Read(ctx, cat)
	if err != nil {
		return err
	}
	fresh, err := cat.With(b)
	if err != nil {
		return err
	}
	u.Say(fmt.Sprintf("%d types of transformers %s, %d pipelines of diffusers %s",
		fresh.Count(catalog.Transformers), fresh.Transformers, fresh.Count(catalog.Diffusers), fresh.Diffusers))
	return wholefile.Write(u.Kept.Path(u.Name(ctx)), b, wholefile.Options{Mode: 0o644})
}
