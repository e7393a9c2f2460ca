package dash

import (
	"encoding/json"
	"io"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// plainJSON writes errors, with markup escaped as Go does it.
var plainJSON = huma.Format{
	Marshal:   func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
	Unmarshal: json.Unmarshal,
}

const schemaPrefix = "#/components/schemas/"

// config describes the API. Its types come from many packages, so that names have
// the package in front: cell.Host and atlas.Host are two things.
func (s *Server) config() huma.Config {
	registry := huma.NewMapRegistry(schemaPrefix, schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]())
	c := huma.DefaultConfig("Assay", s.o.Version)
	c.Info.Description = "What assay serve answers. The JSON is that of the commands with --json."
	c.Components = &huma.Components{Schemas: registry}
	c.Formats = map[string]huma.Format{"application/json": plainJSON, "json": plainJSON}
	c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", nil
	if s.o.Token != "" {
		c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
		c.Security = []map[string][]string{{"token": {}}}
	}
	return c
}

func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if t.Name() == "" || t.PkgPath() == "" || strings.HasPrefix(t.PkgPath(), "github.com/danielgtaylor/huma") {
		return name
	}
	return strings.ToUpper(path.Base(t.PkgPath())[:1]) + path.Base(t.PkgPath())[1:] + strings.ToUpper(name[:1]) + name[1:]
}

// nullable corrects what the description says of pointers to objects and of maps:
// both may be null in Go's JSON, unless they are left out when empty.
func nullable(r huma.Registry) {
	for name, schema := range r.Map() {
		t := r.TypeFromRef(schemaPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property := schema.Properties[tag]
			if property == nil || strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
				continue
			}
			if f.Type.Kind() == reflect.Pointer && property.Ref != "" {
				schema.Properties[tag] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: property.Description}
			}
			if f.Type.Kind() == reflect.Map {
				property.Nullable = true
			}
		}
	}
}
