package main

import (
	"time"

	"assay/internal/environment"
	"assay/internal/hub"

	"github.com/spf13/cobra"
)

// hubFlags are shared by the commands that may load real weights.
type hubFlags struct {
	offline, pickle, code bool
}

func (f *hubFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVar(&f.offline, "offline", false, "take weights from the cache only (also HF_HUB_OFFLINE=1)")
	fs.BoolVar(&f.pickle, "allow-pickle", false, "also load pickled weights, as plain tensors: code in them is still refused")
	fs.BoolVar(&f.code, "trust-remote-code", false, "run the code that a model comes with")
}

func (f *hubFlags) want() hub.Want { return hub.Want{Pickle: f.pickle, Code: f.code} }

// open opens the Hub that the environment names. say hears of its progress.
func (f *hubFlags) open(e *env, say func(string)) (*hub.Hub, error) {
	s, err := hub.FromEnvironment(e.getenv)
	if err != nil {
		return nil, err
	}
	if f.offline {
		s.Forbidden = "--offline"
	}
	o := hub.Options{Settings: s, Say: say, Free: free, Agent: "assay/" + version}
	if e.terminal {
		o.Every = time.Second
	}
	return hub.New(o), nil
}

func free(dir string) (uint64, error) {
	n, _, err := environment.Free(dir)
	return n, err
}
