package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assay/internal/fleet/keys"
	"assay/internal/fleet/station"

	"github.com/spf13/cobra"
)

func keyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Who may connect: give keys, list and revoke them (on the coordinator's machine)",
		Example: "  assay fleet key list",
	}
	var dir string
	c.PersistentFlags().StringVar(&dir, "dir", "", "folder of the coordinator (default: fleet in the data folder)")
	c.AddCommand(keyAdd(a, &dir), keyList(a, &dir), keyRevoke(a, &dir))
	return c
}

func keyAdd(a *app, dir *string) *cobra.Command {
	var at, role, cert string
	c := &cobra.Command{
		Use: "add NAME", Short: "Make a key and print the ticket: one file with all that a worker or user needs",
		Long:    "The ticket holds a secret that is kept nowhere else: bring it to its machine safely.",
		Example: "  assay fleet key add lab-3 --at tls://host:4222 > lab-3.ticket\n  assay fleet key add anna --role user --at tls://host:4222 > anna.ticket",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := a.fleetDir(*dir)
			if err != nil {
				return err
			}
			host, err := os.Hostname()
			if err != nil {
				host = "localhost"
			}
			t, err := station.Ticket(folder, cmp.Or(at, "tls://"+host+":4222"), args[0], keys.Role(role), cmp.Or(cert, filepath.Join(folder, "tls.pem")))
			if err != nil {
				return err
			}
			body, err := json.MarshalIndent(t, "", "  ")
			if err == nil {
				_, err = fmt.Fprintln(a.stdout, string(body))
			}
			return err
		},
	}
	c.Flags().StringVar(&at, "at", "", "address by which its holder reaches the coordinator (default: tls://, this machine's name, port 4222)")
	c.Flags().StringVar(&role, "role", "worker", "worker or user")
	c.Flags().StringVar(&cert, "cert", "", "certificate by which the coordinator is known (default: its own)")
	return c
}

func keyList(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Who has a key", Example: "  assay fleet key list", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ring, err := a.ring(*dir)
			if err != nil {
				return err
			}
			return a.print(ring, func(w io.Writer) error {
				for _, k := range ring.Keys {
					state := ""
					if k.Revoked {
						state = "revoked"
					}
					fmt.Fprintf(w, "%-20s %-8s %s %s\n", k.Name, k.Role, k.Made.Format(time.DateOnly), state)
				}
				return nil
			})
		},
	}
}

func keyRevoke(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Take a key back: its holder is cut off within a second", Example: "  assay fleet key revoke lab-3", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ring, err := a.ring(*dir)
			if err == nil {
				err = ring.Revoke(args[0])
			}
			return err
		},
	}
}

func (a *app) ring(dir string) (*keys.Ring, error) {
	folder, err := a.fleetDir(dir)
	if err != nil {
		return nil, err
	}
	return keys.Open(folder)
}
