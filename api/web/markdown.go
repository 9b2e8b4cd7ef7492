package web

import (
	"bytes"
	"html"
	"html/template"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	markdownparser "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/stele-dev/stele/memory"
)

// What memories say is somebody else's text. It is Plain first (no control characters, no direction overrides), becomes HTML in which
// its own tags are text, and then only what the policy knows is left: no script, no style, no image, no data address.
var (
	parser = goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(markdownparser.WithParagraphTransformers(util.Prioritized(largeTables{}, 1))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tagsAsText{}, 1))))
	policy = func() *bluemonday.Policy {
		p := bluemonday.NewPolicy()
		p.AllowElements("p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
			"table", "thead", "tbody", "tr", "th", "td")
		p.AllowStandardURLs()
		p.AllowURLSchemes("https", "http", "mailto")
		p.AllowAttrs("href").OnElements("a")
		p.RequireNoReferrerOnLinks(true)
		p.RequireNoFollowOnLinks(true)
		return p
	}()
)

// tagsAsText shows HTML in a text as what was written: a memory about a tag must not lose it.
type tagsAsText struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (tagsAsText) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block, ok := n.(*ast.HTMLBlock)
		if !ok || !entering {
			return ast.WalkSkipChildren, nil
		}
		var text []byte
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			text = append(text, line.Value(source)...)
		}
		if block.HasClosure() {
			text = append(text, block.ClosureLine.Value(source)...)
		}
		_, err := w.WriteString("<p>" + html.EscapeString(string(text)) + "</p>\n")
		return ast.WalkSkipChildren, err
	})
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		raw, ok := n.(*ast.RawHTML)
		if !ok || !entering {
			return ast.WalkSkipChildren, nil
		}
		for i := range raw.Segments.Len() {
			part := raw.Segments.At(i)
			if _, err := w.WriteString(html.EscapeString(string(part.Value(source)))); err != nil {
				return ast.WalkStop, err
			}
		}
		return ast.WalkSkipChildren, nil
	})
}

// mostCells bounds a table. Cells that a row lacks are made up, so that a memory of 16 kB could ask for millions of them; this many fill a
// screen some ten times over.
const mostCells = 5000

// largeTables shows a table of more cells than that as it was written.
type largeTables struct{}

// Transform implements parser.ParagraphTransformer. It comes before tables are looked for.
func (largeTables) Transform(p *ast.Paragraph, reader text.Reader, _ markdownparser.Context) {
	columns := 0
	for i := range p.Lines().Len() {
		segment := p.Lines().At(i)
		if line := segment.Value(reader.Source()); len(bytes.Trim(line, "|-: \t\n")) == 0 { // it may begin a table
			columns = max(columns, bytes.Count(line, []byte("|"))+1)
		}
	}
	if columns*p.Lines().Len() > mostCells {
		code := ast.NewCodeBlock()
		code.SetLines(p.Lines())
		p.Parent().ReplaceChild(p.Parent(), p, code)
	}
}

// markdown is a text as HTML that is safe to show.
func markdown(content string) (template.HTML, error) {
	var b bytes.Buffer
	if err := parser.Convert([]byte(memory.Plain(content)), &b); err != nil {
		return "", err
	}
	return template.HTML(policy.SanitizeBytes(b.Bytes())), nil //nolint:gosec // that is what the policy is for
}
