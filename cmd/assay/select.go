package main

import (
	"assay/internal/catalog"
	"assay/internal/plan"

	"github.com/spf13/cobra"
)

// selectors are the flags by which every command that takes models chooses them.
type selectors struct{ catalog.Selector }

func (s *selectors) add(c *cobra.Command) { addSelectors(c, &s.Selector) }

func addSelectors(c *cobra.Command, s *catalog.Selector) {
	f := c.Flags()
	f.BoolVar(&s.All, "all", false, "every model type of the catalogue")
	f.BoolVar(&s.Key, "key", false, "the thirteen key models")
	f.BoolVar(&s.Representatives, "representatives", false, "one or two small models of each family")
	f.StringSliceVar(&s.Families, "family", nil, "models of these families, groups (text, vision, speech, …) or relatives of a type")
	f.StringSliceVar(&s.Tasks, "task", nil, "models with this task head, run with it")
	f.StringSliceVar(&s.Priorities, "priority", nil, "models of this priority: high, medium, low")
}

// selector joins the flags with the models named as arguments.
func (s *selectors) selector(args []string) catalog.Selector {
	out := s.Selector
	out.Models = plan.Names(args)
	return out
}

// none reports whether nothing was selected at all.
func (s *selectors) none(args []string) bool { return len(args) == 0 && s.Empty() }
