package web

import (
	"bytes"
	"html"
	"html/template"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/stele-dev/stele/memory"
)

// What memories say is somebody else's text. It is Plain first (no control characters, no direction overrides), becomes HTML in which
// its own tags are text, and then only what the policy knows is left: no script, no style, no image, no data address.
var (
	parser = goldmark.New(goldmark.WithExtensions(extension.GFM),
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

// markdown is a text as HTML that is safe to show.
func markdown(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := parser.Convert([]byte(memory.Plain(text)), &b); err != nil {
		return "", err
	}
	return template.HTML(policy.SanitizeBytes(b.Bytes())), nil //nolint:gosec // that is what the policy is for
}
