package main

import (
	"context"
	"errors"
	"time"

	"assay/internal/pool"

	"github.com/spf13/pflag"
)

// poolFlags are those of the pool of loaded models.
type poolFlags struct{}

func (f *poolFlags) add(*pflag.FlagSet) {}
func (f *poolFlags) check() error       { return nil }

// servedModels are the models that serve keeps loaded.
type servedModels struct{ *pool.Pool }

type noLoader struct{}

func (noLoader) Find(context.Context, pool.Request) (pool.Subject, []pool.Place, error) {
	return pool.Subject{}, nil, &pool.RefusedError{Kind: pool.Unavailable, Err: errors.New("this program runs no models over HTTP yet")}
}

func (noLoader) Load(context.Context, pool.Subject, pool.Place, pool.Loaded) (pool.Loaded, error) {
	return nil, errors.New("this program runs no models over HTTP yet")
}

func (a *app) openModels(*servedLab, poolFlags) (*servedModels, error) {
	return &servedModels{pool.New(noLoader{}, pool.Limits{InFlight: 1}, time.Now)}, nil
}
