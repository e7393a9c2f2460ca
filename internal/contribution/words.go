package contribution

import (
	"regexp"
	"slices"
	"strings"

	"assay/internal/atlas"
)

// everyday are words of errors that people and machines are called by, too.
var everyday = strings.Fields("art bill box build builder chase dev data desktop drew grant index kernel lab laptop main mark master may model node page pc rich rose seed server service test tester tmp trace ward will work worker workstation")

var aWord = regexp.MustCompile(`\pL[\pL\pN]*`)

// words are those that the atlas itself uses, of types, errors and machines, and others of errors: they tell nobody.
func words(book *atlas.Book) (map[string]bool, error) {
	out, said := map[string]bool{}, map[string]bool{}
	for _, w := range slices.Concat(everyday, either, stops, links) {
		out[w] = true
	}
	say := func(texts ...string) {
		for _, t := range texts {
			if said[t] {
				continue
			}
			said[t] = true
			for _, w := range aWord.FindAllString(t, -1) {
				out[strings.ToLower(w)] = true
			}
		}
	}
	for _, t := range book.Names() {
		claims, err := book.Claims(t)
		if err != nil {
			return nil, err
		}
		say(t)
		for _, c := range claims {
			say(c.Target, string(c.DType), c.Note, c.Detail)
			for name, v := range c.Versions {
				say(name, v)
			}
			if c.Run != nil {
				say(c.Run.Host.OS, c.Run.Host.Arch, c.Run.Host.CPU)
				say(c.Run.Host.Devices...)
			}
		}
	}
	return out, nil
}
