package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"assay/internal/fleet/byssh"
	"assay/internal/fleet/keys"

	"github.com/spf13/cobra"
)

// boardCommand starts a worker on a machine that is reached only by ssh.
func boardCommand(a *app) *cobra.Command {
	b := byssh.Board{}
	var ticket string
	c := &cobra.Command{
		Use: "board HOST [-- JOIN-FLAGS]", Short: "Run a worker on a machine that is reached by ssh, as long as the command runs",
		Long: `Board copies assay-worker to HOST, once, and runs it there until this command is stopped. HOST is what ssh takes; a key must
open it without a password. What the worker says goes through the same connection, so that the machine needs no way of its own
to the coordinator. Its ticket never lies on its disk. What stands behind -- is given to assay-worker join.`,
		Example: "  assay fleet board pi@board --ticket board.ticket\n  assay fleet board pi@board --ticket board.ticket --worker assay-worker-linux-arm64 -- --workers 1",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			b.Host, b.Flags = args[0], args[1:]
			if len(b.Flags) > 0 && c.ArgsLenAtDash() != 1 {
				return usage("%q is one argument too many: flags of assay-worker join come behind --", args[1])
			}
			if b.Ticket, err = keys.Read(cmp.Or(ticket, defaultFleet)); err == nil {
				err = b.Ticket.For(keys.Worker)
			}
			if err != nil {
				return usage("--ticket: %w", err)
			}
			if b.Worker == "" {
				if b.Worker, err = besides("assay-worker"); err != nil {
					return err
				}
			}
			b.Out, b.Say = a.stderr, a.say
			return b.Run(c.Context())
		},
	}
	c.Flags().StringVar(&ticket, "ticket", "", "the worker's ticket, or an address where the coordinator asks for no keys (default: "+defaultFleet+")")
	c.Flags().StringVar(&b.Worker, "worker", "", "file of assay-worker for that machine (default: the one beside this program)")
	c.Flags().StringVar(&b.Config, "ssh-config", "", "configuration of ssh (default: your own)")
	c.Flags().StringVar(&b.Folder, "folder", "", "folder on that machine that keeps assay-worker (default: .cache/assay in its user's home)")
	c.Flags().StringVar(&b.Port, "port", "", "port of that machine's loopback at which the tunnel begins (default: the coordinator's)")
	return c
}

// besides is a program that lies beside this one.
func besides(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", usage("%s is not there: give the file of assay-worker with --worker", path)
	}
	return path, nil
}
