package diagram

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Sheet is how diagrams look. It needs the variables that the pages set; a file of its own brings them along.
//
//go:embed sheet.css
var Sheet string

//go:embed colours.css
var colours string

// Bounds of what is drawn. Nobody reads more at once; a view beyond them is a table.
const (
	MaxNodes = 300
	MaxEdges = 900
	// labelled is how many edges have their words beside them. Of more, words would cover the lines.
	labelled = 90
)

// Options of a drawing.
type Options struct {
	// Address of what a click on a node opens; nil for a file of its own, which has a sheet and a legend and opens nothing.
	Address func(Node) string
}

// Sizes of what is written, in pixels.
const (
	boxWidth = 236.0
	boxPad   = 12.0
	figure   = 26.0 // height of the sign of a person

	nameSize, nameLine   = 15.0, 19.0
	smallSize, smallLine = 12.0, 16.0
	labelWidth           = 150.0

	nameLines, aboutLines, labelLines = 2, 3, 2
)

// text is a line in a box.
type text struct {
	class, words string
	y            float64 // baseline from the top of the box
}

// drawn is a node as it is written.
type drawn struct {
	Node
	box   box
	texts []text
}

// Title is what the view is called.
func (v View) Title() string {
	switch v.Kind {
	case Landscape:
		return "People and systems"
	case Context:
		return v.Name + " and its surroundings"
	case Containers, Components, Code:
	}
	words := map[Kind]string{Containers: "containers", Components: "components", Code: "code"}[v.Kind]
	return strings.ToUpper(words[:1]) + words[1:] + " of " + v.Name
}

// Drawable tells whether a view is small enough to be drawn; what is wrong is a problem in words.
func (v View) Drawable() error {
	if len(v.Nodes) > MaxNodes || len(v.Edges) > MaxEdges {
		return problem.Invalidf("view", "%s has %s and %s; a diagram takes %d and %d", v.Title(), plural(len(v.Nodes), "element"), plural(len(v.Edges), "relation"), MaxNodes, MaxEdges).
			Fix("open an element inside it, or read the table of relations")
	}
	return nil
}

// SVG draws a view. One with more than MaxNodes or MaxEdges is a problem.
func SVG(v View, o Options) (string, error) {
	if err := v.Drawable(); err != nil {
		return "", err
	}
	nodes := make([]drawn, len(v.Nodes))
	at := make(map[string]int, len(v.Nodes))
	for i, n := range v.Nodes {
		nodes[i] = draw(n)
		at[n.Key] = i
	}
	bands(v, nodes, at)
	boxes := make([]box, len(nodes))
	for i := range nodes {
		boxes[i] = nodes[i].box
	}
	links := make([]link, 0, len(v.Edges))
	labels := make([][]string, 0, len(v.Edges))
	for _, e := range v.Edges {
		l := link{from: at[e.Source], to: at[e.Destination]}
		var label []string
		if len(v.Edges) <= labelled || e.State != InModel {
			label = e.label(len(v.Edges) <= labelled)
		}
		for _, line := range label {
			l.w, l.h = max(l.w, textWidth(line, smallSize)+8), l.h+smallLine
		}
		l.bundled = len(label) == 0
		links, labels = append(links, l), append(labels, label)
	}
	inner := noBand
	if v.Kind != Landscape && v.Kind != Context {
		inner = bandInside
	}
	w := writer{view: v, options: o, placed: arrange(boxes, links, inner)}
	w.write(nodes, labels)
	return w.String(), nil
}

// The bands of a view with a boundary.
const (
	noBand     = -1
	bandUsers  = 0
	bandInside = 1
	bandUsed   = 2
)

// bands puts what uses more than it is used above, and what is used below the boundary.
func bands(v View, nodes []drawn, at map[string]int) {
	if v.Kind == Landscape || v.Kind == Context {
		return
	}
	uses := make([]int, len(nodes))
	for _, e := range v.Edges {
		uses[at[e.Source]]++
		uses[at[e.Destination]]--
	}
	for i := range nodes {
		switch {
		case nodes[i].Place == Inside:
			nodes[i].box.band = bandInside
		case uses[i] >= 0:
			nodes[i].box.band = bandUsers
		default:
			nodes[i].box.band = bandUsed
		}
	}
}

// draw lays out the text of a node.
func draw(n Node) drawn {
	d := drawn{Node: n, box: box{w: boxWidth}}
	const inner = boxWidth - 2*boxPad
	y := boxPad
	if n.Level == "person" {
		y += figure
	}
	add := func(class string, line float64, words ...string) {
		for _, w := range words {
			y += line
			d.texts = append(d.texts, text{class, w, y - line/4})
		}
	}
	add("name", nameLine, wrap(n.Name, nameSize, inner, nameLines)...)
	meta := n.Level
	if n.External && n.Level != "person" {
		meta = "external " + meta
	}
	if n.Technology != "" {
		meta += ": " + n.Technology
	}
	add("meta", smallLine, wrap("["+meta+"]", smallSize, inner, nameLines)...)
	if lines := wrap(n.Description, smallSize, inner, aboutLines); len(lines) > 0 {
		y += 4
		add("about", smallLine, lines...)
	}
	if facts := n.Facts(); facts != "" {
		y += 5
		add("facts", smallLine, wrap(facts, smallSize, inner, nameLines)...)
	}
	d.box.h = y + boxPad
	return d
}

// words is all that stands in the box, in the order of its lines.
func (d drawn) words() string {
	lines := make([]string, len(d.texts))
	for i, t := range d.texts {
		lines[i] = t.words
	}
	return strings.Join(lines, " ")
}

// Facts is what is known at a node, in a line; "" for people and what is outside the project.
func (n Node) Facts() string {
	k := n.Known
	if k == nil {
		return ""
	}
	parts := []string{k.Freshness}
	if k.Freshness == "none" {
		parts[0] = "nothing known"
	}
	if k.Drift == "drifted" || k.Drift == "missing" {
		parts = append(parts, "code "+k.Drift)
	}
	for _, c := range []struct {
		n    int
		word string
	}{{k.Doubts, ""}, {k.Pitfalls, "pitfall"}, {k.Conventions, "convention"}, {k.Notes, "note"}} {
		switch {
		case c.n == 0:
		case c.word == "":
			parts = append(parts, strconv.Itoa(c.n)+" in doubt")
		default:
			parts = append(parts, plural(c.n, c.word))
		}
	}
	return strings.Join(parts, " · ")
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}

// Words say whether model and code agree on an edge; "" when nothing speaks against it.
func (e Edge) Words() string {
	switch {
	case e.State == NotInModel:
		return "not in the model"
	case e.State == NotInCode:
		return "not in the code"
	case e.Undocumented > 0 && e.Absent > 0:
		return fmt.Sprintf("%d more not in the model, %d of %d not in the code", e.Undocumented, e.Absent, e.Relations)
	case e.Undocumented > 0:
		return fmt.Sprintf("%d more not in the model", e.Undocumented)
	case e.Absent > 0:
		return fmt.Sprintf("%d of %d not in the code", e.Absent, e.Relations)
	}
	return ""
}

// label is what stands beside an edge.
func (e Edge) label(described bool) []string {
	var out []string
	if described && len(e.Descriptions) > 0 {
		words := e.Descriptions[0]
		if more := len(e.Descriptions) - 1; more > 0 {
			tail := fmt.Sprintf(" +%d more", more)
			lines := wrap(words, smallSize, labelWidth-textWidth(tail, smallSize)/labelLines, labelLines)
			lines[len(lines)-1] += tail
			out = lines
		} else {
			out = wrap(words, smallSize, labelWidth, labelLines)
		}
	}
	if words := e.Words(); words != "" {
		out = append(out, wrap(words, smallSize, labelWidth, labelLines)...)
	}
	return out
}

// writer writes a placed view.
type writer struct {
	strings.Builder
	view    View
	options Options
	placed  placed
}

func (w *writer) put(format string, values ...any) { fmt.Fprintf(&w.Builder, format, values...) }

// px is a length in a drawing.
func px(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// escape makes any text harmless in SVG: its markup is text, and what XML does not take is not there.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xFFFE || r == 0xFFFF || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
}

const (
	titleHeight  = 34.0
	legendHeight = 26.0
)

func (w *writer) write(nodes []drawn, labels [][]string) {
	width, height, below := w.placed.w, w.placed.h, 0.0
	alone := w.options.Address == nil
	if alone {
		width, below = max(width, w.legendWidth()+2*margin, textWidth(w.view.Title(), 17)+2*margin), titleHeight
		height += titleHeight + legendHeight
	}
	role := "img"
	if !alone {
		role = "group"
	}
	w.put(`<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="%s" aria-labelledby="diagram-title diagram-about" `, role)
	w.put(`width="%s" height="%s" viewBox="0 0 %[1]s %[2]s">`+"\n", px(width), px(height))
	w.put("<title id=\"diagram-title\">%s</title>\n", escape(w.view.Title()))
	w.put("<desc id=\"diagram-about\">%s, %s</desc>\n", plural(len(w.view.Nodes), "element"), plural(len(w.view.Edges), "relation"))
	if alone {
		w.put("<style>\n%s%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"var(--paper)\"/>\n", colours, Sheet)
		w.put(`<text class="title" x="%s" y="%s">%s</text>`+"\n", px(margin), px(margin+14), escape(w.view.Title()))
	}
	w.put(`<g transform="translate(%s %s)">`+"\n", px((width-w.placed.w)/2), px(below))
	if b := w.placed.bounds; b.w > 0 {
		w.put(`<rect class="bounds" x="%s" y="%s" width="%s" height="%s" rx="10"/>`+"\n", px(b.x), px(b.y), px(b.w), px(b.h))
	}
	for k, e := range w.view.Edges {
		w.edge(e, w.placed.paths[k], w.placed.labels[k], labels[k], nodes)
	}
	if b := w.placed.bounds; b.w > 0 {
		w.put(`<text class="bounds-name halo" x="%s" y="%s">%s</text>`+"\n", px(b.x+14), px(b.y+24), escape(cut(w.view.Name, 14, b.w-28-90)+" ["+w.view.Level+"]"))
	}
	for i := range nodes {
		w.node(nodes[i], w.placed.boxes[i])
	}
	w.put("</g>\n")
	if alone {
		w.legend(height - legendHeight)
	}
	w.put("</svg>\n")
}

// path writes the line of an edge: straight through rows, curves that begin and end upright between them.
func path(points []point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", px(points[0].x), px(points[0].y))
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		if from.x == to.x {
			fmt.Fprintf(&b, "V%s", px(to.y))
			continue
		}
		middle := (from.y + to.y) / 2
		fmt.Fprintf(&b, "C%s %s %s %s %s %s", px(from.x), px(middle), px(to.x), px(middle), px(to.x), px(to.y))
	}
	return b.String()
}

const arrow = 8.0

func (w *writer) edge(e Edge, points []point, middle point, label []string, nodes []drawn) {
	end := &points[len(points)-1]
	up := arrow // the head points down, or up when the edge goes against the layers
	if end.y < points[0].y {
		up = -arrow
	}
	tip := *end
	end.y -= up
	name := func(key string) string {
		return nodes[slices.IndexFunc(nodes, func(n drawn) bool { return n.Key == key })].Name
	}
	w.put(`<g class="edge %s"><title>%s → %s`, e.State, escape(name(e.Source)), escape(name(e.Destination)))
	for _, words := range e.Descriptions[:min(len(e.Descriptions), 8)] {
		w.put("\n%s", escape(words))
	}
	if words := e.Words(); words != "" {
		w.put("\n%s", words)
	}
	w.put(`</title><path d="%s"/><polygon points="%s,%s %s,%s %s,%s"/>`, path(points), px(tip.x), px(tip.y), px(tip.x-arrow/2), px(tip.y-up), px(tip.x+arrow/2), px(tip.y-up))
	if len(label) > 0 {
		wide := 0.0
		for _, line := range label {
			wide = max(wide, textWidth(line, smallSize))
		}
		top := middle.y - smallLine*float64(len(label))/2
		w.put(`<rect x="%s" y="%s" width="%s" height="%s"/><text text-anchor="middle">`, px(middle.x-wide/2-2), px(top), px(wide+4), px(smallLine*float64(len(label))))
		for i, line := range label {
			w.put(`<tspan x="%s" y="%s">%s</tspan>`, px(middle.x), px(top+smallLine*(float64(i)+0.75)), escape(line))
		}
		w.put("</text>")
	}
	w.put("</g>\n")
}

func (w *writer) node(d drawn, at rect) {
	class := []string{"node", d.Level, string(d.Place)}
	if d.Known != nil {
		class = append(class, d.Known.Freshness)
	}
	if d.External {
		class = append(class, "external")
	}
	address := ""
	if w.options.Address != nil {
		address = w.options.Address(d.Node)
	}
	if address != "" { // its name is what stands in the box, so that who sees it can say it
		w.put(`<a href="%s" aria-label="%s">`, escape(address), escape(d.words()))
	}
	w.put(`<g class="%s"><title>%s</title>`, escape(strings.Join(class, " ")), escape(cmp.Or(d.Description, d.Name)))
	round := 6.0
	if d.Inside > 0 { // something is in it: it opens
		w.put(`<rect class="behind" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, px(at.x+4), px(at.y+4), px(at.w), px(at.h), px(round))
	}
	if d.Level == "person" {
		round = 22
	}
	w.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, px(at.x), px(at.y), px(at.w), px(at.h), px(round))
	if d.Level == "person" { // a head above shoulders
		x, y := at.x+at.w/2, at.y+boxPad
		w.put(`<circle cx="%s" cy="%s" r="6"/><path class="shoulders" d="M%s %sa11 10 0 0 1 22 0z"/>`, px(x), px(y+6), px(x-11), px(y+23))
	}
	if d.Known != nil && (d.Known.Drift == "drifted" || d.Known.Drift == "missing") {
		w.put(`<rect class="mark" x="%s" y="%s" width="4" height="%s"/>`, px(at.x), px(at.y+round), px(at.h-2*round))
	}
	for _, t := range d.texts {
		w.put("\n"+`<text class="%s" text-anchor="middle" x="%s" y="%s">%s</text>`, t.class, px(at.x+at.w/2), px(at.y+t.y), escape(t.words))
	}
	w.put("</g>")
	if address != "" {
		w.put("</a>")
	}
	w.put("\n")
}

// legendEntry is a sign and what it says.
type legendEntry struct{ class, words string }

var legendEntries = []legendEntry{
	{"fresh", "fresh"}, {"ageing", "ageing"}, {"old", "old"}, {"none", "nothing known"},
	{string(NotInModel), "not in the model"}, {string(NotInCode), "not in the code"},
}

const legendSign, legendGap = 26.0, 18.0

func (w *writer) legendWidth() float64 {
	wide := 0.0
	for _, l := range legendEntries {
		wide += legendSign + 6 + textWidth(l.words, smallSize) + legendGap
	}
	return wide
}

func (w *writer) legend(y float64) {
	x := margin
	for _, l := range legendEntries {
		if strings.HasPrefix(l.class, "not") {
			w.put(`<g class="edge %s"><path d="M%s %sH%s"/></g>`, l.class, px(x), px(y+8), px(x+legendSign))
		} else {
			w.put(`<g class="node %s"><rect x="%s" y="%s" width="%s" height="12" rx="3"/></g>`, l.class, px(x), px(y+2), px(legendSign))
		}
		x += legendSign + 6
		w.put(`<text class="legend-words" x="%s" y="%s">%s</text>`, px(x), px(y+12), l.words)
		x += textWidth(l.words, smallSize) + legendGap
	}
	w.put("\n")
}
