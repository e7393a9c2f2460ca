//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// supported refuses what this system does not have.
func supported(o order) error {
	if o.Landlock == Require || o.Limits.Memory > 0 || o.Limits.FileSize > 0 || o.Limits.OpenFiles > 0 {
		return fmt.Errorf("the policy asks for limits that %s does not have for a worker: only weights, own code and time are kept there", runtime.GOOS)
	}
	return nil
}

func plan(o order) []string {
	var out []string
	if o.Limits.Time > 0 {
		out = append(out, fmt.Sprintf("a task takes at most %v", time.Duration(o.Limits.Time)))
	}
	if o.Landlock == Use {
		out = append(out, "files are NOT confined: "+runtime.GOOS+" has no landlock")
	}
	return out
}

func become(order, string, []string) error { return errors.New("this system cannot confine a program") }

type group struct{ dir string }

func newGroup(int64) (*group, error) {
	return nil, errors.New(runtime.GOOS + " has no cgroups")
}

func (*group) remove() error { return nil }
