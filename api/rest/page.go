package rest

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and its style
	"encoding/base64"
	"encoding/json"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed page.gohtml
var pageTemplate string

//go:embed page.css
var pageStyle string

// pagePolicy lets the page load nothing and run nothing; its style is known by its hash.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

type (
	pageView struct {
		Title, Introduction string
		Style               template.CSS
		Groups              []pageGroup
		Headers             []pageField
		Schemas             []pageSchema
	}
	pageGroup struct {
		Anchor, Name, Description string
		Operations                []pageOperation
	}
	pageOperation struct {
		ID, Method, Path, Summary, Description string

		Parameters []pageField
		Headers    []string
		Body       *pageBody
		Answers    []pageAnswer
	}
	pageField struct {
		Name, Type, In, Description string
		Schema                      string // that Type names
		Required                    bool
	}
	pageBody   struct{ Name, Example string }
	pageAnswer struct{ Status, Description, Schema string }
	pageSchema struct {
		Name, Description string
		Fields            []pageField
	}
)

// page makes the document readable for people: one page that needs nothing else.
func page(doc *huma.OpenAPI) []byte {
	view := pageView{Title: doc.Info.Title, Introduction: doc.Info.Description, Style: template.CSS(pageStyle)} //nolint:gosec // it is the embedded file
	all := operations(doc)
	for _, tag := range doc.Tags {
		group := pageGroup{Anchor: "group-" + strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-"), Name: tag.Name, Description: tag.Description}
		for _, op := range all {
			if op.Tags[0] == tag.Name {
				group.Operations = append(group.Operations, pageOf(doc, op))
			}
		}
		view.Groups = append(view.Groups, group)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Parameters)) {
		p := doc.Components.Parameters[name]
		view.Headers = append(view.Headers, pageField{Name: name, Type: typeName(p.Schema), Description: p.Description})
	}
	schemas := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		s := schemas[name]
		shown := pageSchema{Name: name, Description: s.Description}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[field]
			shown.Fields = append(shown.Fields, pageField{Name: field, Type: typeName(p), Schema: schemaName(p), Description: p.Description,
				Required: slices.Contains(s.Required, field)})
		}
		view.Schemas = append(view.Schemas, shown)
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{"prose": prose, "paragraphs": paragraphs}).Parse(pageTemplate))
	var b bytes.Buffer
	if err := t.Execute(&b, view); err != nil {
		panic(err) // the document is made of constants
	}
	return b.Bytes()
}

func pageOf(doc *huma.OpenAPI, op *huma.Operation) pageOperation {
	shown := pageOperation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Description: op.Description}
	for _, p := range op.Parameters {
		if p.Ref != "" {
			shown.Headers = append(shown.Headers, lastPart(p.Ref))
			continue
		}
		shown.Parameters = append(shown.Parameters, pageField{Name: p.Name, Type: typeName(p.Schema), In: p.In, Description: p.Description, Required: p.Required})
	}
	if op.RequestBody != nil {
		content := op.RequestBody.Content[contentJSON]
		shown.Body = &pageBody{Name: schemaName(content.Schema)}
		if content.Example != nil {
			example, err := json.MarshalIndent(content.Example, "", "  ")
			if err != nil {
				panic(err) // the document is made of constants
			}
			shown.Body.Example = string(example)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		if r.Ref != "" {
			r = doc.Components.Responses[lastPart(r.Ref)]
		}
		a := pageAnswer{Status: status, Description: r.Description}
		for _, kind := range []string{contentJSON, "application/problem+json"} {
			if content := r.Content[kind]; content != nil {
				a.Schema = schemaName(content.Schema)
			}
		}
		shown.Answers = append(shown.Answers, a)
	}
	return shown
}

func lastPart(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// schemaName is the schema that s refers to, itself or in its items; "" when none.
func schemaName(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		return lastPart(s.Ref)
	case len(s.AnyOf) > 0:
		return schemaName(s.AnyOf[0])
	case s.Items != nil:
		return schemaName(s.Items)
	}
	return ""
}

// typeName says in words what s is.
func typeName(s *huma.Schema) string {
	name := s.Type
	values, isMap := s.AdditionalProperties.(*huma.Schema)
	switch {
	case s.Ref != "":
		name = lastPart(s.Ref)
	case len(s.AnyOf) > 0:
		return typeName(s.AnyOf[0]) + " or null"
	case s.Items != nil:
		name = "list of " + typeName(s.Items)
	case isMap:
		name = typeName(values) + " by name"
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i], _ = v.(string)
		}
		name = strings.Join(words, " | ")
	case s.Format == "date-time":
		name = "time"
	case s.Format == "uuid":
		name = "UUID"
	}
	if s.Nullable {
		name += " or null"
	}
	return name
}

func paragraphs(text string) []string { return strings.Split(text, "\n\n") }

// prose shows what stands between backticks as code.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // every part is escaped
}
