package main

import (
	"errors"
	"fmt"
	"regexp"

	"assay/internal/spelling"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggest is the end of a sentence about a word that is not known.
func suggest(typed string, names []string) string {
	if name := spelling.Meant(typed, names); name != "" {
		return fmt.Sprintf(": did you mean %s?", name)
	}
	return ""
}

func suggestCommand(c *cobra.Command, typed string) string {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return suggest(typed, names)
}

// suggestSubcommand is for a command with commands of its own, whose check reports the
// word in its own sentence.
func suggestSubcommand(c *cobra.Command, err error) string {
	if typed := unknownCommand.FindStringSubmatch(err.Error()); typed != nil {
		return suggestCommand(c, typed[1])
	}
	return ""
}

var unknownCommand = regexp.MustCompile(`^unknown command "([^"]*)" for`)

func suggestFlag(c *cobra.Command, err error) string {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if name := spelling.Meant(none.GetSpecifiedName(), names); name != "" {
		return fmt.Sprintf(": did you mean --%s?", name)
	}
	return ""
}

// goWords are what Go's own parsers say, and what that means.
var goWords = []struct {
	re *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`strconv\.(?:Atoi|ParseInt|ParseUint): parsing "[^"]*": value out of range`), "it is too large"},
	{regexp.MustCompile(`strconv\.(?:Atoi|ParseInt|ParseUint): parsing "[^"]*": invalid syntax`), "it is not a whole number"},
	{regexp.MustCompile(`strconv\.ParseFloat: parsing "[^"]*": invalid syntax`), "it is not a number"},
	{regexp.MustCompile(`strconv\.ParseBool: parsing "[^"]*": invalid syntax`), "it is true or false"},
	{regexp.MustCompile(`time: (?:invalid duration|missing unit in duration|unknown unit "[^"]*" in duration) "[^"]*"`), "it is not a time such as 30s or 10m"},
	{regexp.MustCompile(`^parse error on line \d+, column \d+: .*`), "it is not a comma-separated list"},
}

// sayPlainly says what is wrong with an argument as a person would.
func sayPlainly(err error) string {
	text := err.Error()
	for _, w := range goWords {
		text = w.re.ReplaceAllString(text, w.as)
	}
	return text
}
