package main

import (
	"strings"

	"assay/internal/catalog"

	"github.com/spf13/cobra"
)

// selectors are the flags by which every command that takes models chooses them.
type selectors struct {
	all, key, representatives bool
	families, tasks, priority []string
}

func (s *selectors) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&s.all, "all", false, "every model type of the catalogue")
	f.BoolVar(&s.key, "key", false, "the thirteen key models")
	f.BoolVar(&s.representatives, "representatives", false, "one or two small models of each family")
	f.StringSliceVar(&s.families, "family", nil, "models of these families, groups (text, vision, speech, …) or relatives of a type")
	f.StringSliceVar(&s.tasks, "task", nil, "models with this task head, run with it")
	f.StringSliceVar(&s.priority, "priority", nil, "models of this priority: high, medium, low")
}

// selector joins the flags with the models named as arguments.
func (s *selectors) selector(args []string) catalog.Selector {
	var models []string
	for _, a := range args {
		if isPath(a) {
			models = append(models, a)
			continue
		}
		models = append(models, strings.FieldsFunc(a, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return catalog.Selector{
		Models: models, All: s.all, Key: s.key, Representatives: s.representatives,
		Families: s.families, Tasks: s.tasks, Priorities: s.priority,
	}
}

// none reports whether nothing was selected at all.
func (s *selectors) none(args []string) bool {
	return len(args) == 0 && !s.all && !s.key && !s.representatives && len(s.families)+len(s.tasks)+len(s.priority) == 0
}
