package site

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is a file of HTML: which page it is, and what those without JavaScript read.
type page struct {
	Page, Name, Title, Root, About string
	Lines                          []plainLine
	Links                          []plainLink
}

type plainLine struct{ Target, DType, Verdict, Evidence, Why, With, Date string }

type plainLink struct{ Href, Text string }

func (p page) file(name string) (file, error) {
	p.Root = strings.Repeat("../", strings.Count(name, "/"))
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return file{name, b.Bytes()}, err
}

// pages are the site's, and one for each model and target.
func (s *site) pages() ([]file, error) {
	all := map[string]page{
		"index.html":    {Page: "home", Title: "Does this model run on that hardware?", About: "Verdicts with proof: models on hardware, each from a run.", Links: s.modelLinks()},
		"matrix.html":   {Page: "matrix", Title: "Matrix", About: "All models on all targets.", Links: s.modelLinks()},
		"findings.html": {Page: "findings", Title: "Findings", About: "Faults that Assay found in libraries."},
		"method.html":   {Page: "method", Title: "Method", About: "How these verdicts are made."},
		"quality.html":  {Page: "quality", Title: "Quality of the data", About: "What each column rests on."},
		"data.html":     {Page: "data", Title: "Data", About: "The data as JSON and CSV."},
	}
	for _, m := range s.models {
		all["model/"+fileName(m.Answer.Model)+".html"] = m.page()
	}
	for _, c := range s.board.Columns {
		all["platform/"+fileName(c.Target)+".html"] = page{Page: "platform", Name: c.Target, Title: "What runs on " + c.Target,
			About: "Models on " + c.Name + " (" + c.Vendor + ") with proof: " + strings.Join(c.Also, ", "), Links: s.modelLinks()}
	}
	var out []file
	for name, p := range all {
		f, err := p.file(name)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// modelLinks lead to every model, for those without JavaScript.
func (s *site) modelLinks() []plainLink {
	out := make([]plainLink, 0, len(s.models))
	for _, m := range s.models {
		out = append(out, plainLink{"model/" + fileName(m.Answer.Model) + ".html", m.Answer.Model})
	}
	return out
}
