package web_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/memory"
)

// mostPicture is how many bytes a picture may have: everybody who clones the repository gets them all.
const mostPicture = 120 << 10

// picture is one of a page for the documentation.
type picture struct {
	name   string // of the file, without .png
	width  int64
	scheme string
}

// screen is a page as tests open it. A page that is missing here fails TestEveryPageIsTried.
type screen struct {
	pattern  string               // it is registered under
	path     func(d *demo) string // address in the demo
	press    string               // a button to press before; "" for none
	sees     string               // words of its main part
	signed   bool
	pictures []picture
}

func at(path string) func(*demo) string { return func(*demo) string { return path } }

func inShop(path string) func(*demo) string { return at("/p/shop/" + path) }

// plain is a picture as most are.
func plain(name string) picture { return picture{name, 1280, "light"} }

// screens are all pages.
var screens = []screen{ //nolint:gochecknoglobals // a table
	{pattern: "GET /sign-in", path: at("/sign-in"), sees: "Token", pictures: []picture{plain("sign-in")}},
	{pattern: "GET /{$}", path: at("/"), sees: "warehouse", signed: true},
	{pattern: "GET /p/{project}/{$}", path: inShop(""), sees: "Fill the busiest holes", signed: true, pictures: []picture{plain("map"), {"map-dark", 1280, "dark"}, {"map-phone", 360, "light"}}},
	{pattern: "GET /p/{project}/elements/{key}", path: inShop("elements/shop.api.checkout"), sees: "Write what you know", signed: true, pictures: []picture{plain("element"), {"element-phone", 360, "dark"}}},
	{pattern: "GET /p/{project}/diagrams", path: inShop("diagrams"), sees: "Payment provider", signed: true},
	{pattern: "GET /p/{project}/diagrams/{key}", path: inShop("diagrams/shop.api"), sees: "Checkout", signed: true, pictures: []picture{plain("diagram"), {"diagram-dark", 1280, "dark"}}},
	{pattern: "GET /p/{project}/memories/{handle}", path: func(d *demo) string { return "/p/shop/memories/" + d.by["The provider answers twice"].Handle }, sees: "What happened", signed: true, pictures: []picture{plain("memory")}},
	{pattern: "GET /p/{project}/memories/{memory}/code", path: func(d *demo) string { return "/p/shop/memories/" + d.by["The provider answers twice"].Handle + "/code" }, sees: "then and now", signed: true},
	{pattern: "GET /p/{project}/recall", path: inShop("recall?q=payment+provider+answers+twice&limit=4&tokens=1500"), sees: "results", signed: true, pictures: []picture{plain("recall")}},
	{pattern: "GET /p/{project}/review", path: inShop("review?all=1"), sees: "open items", signed: true, pictures: []picture{plain("review"), {"review-phone", 360, "light"}}},
	{pattern: "GET /p/{project}/review/groups/{group}", path: func(d *demo) string { return "/p/shop/review/groups/" + d.group + "?all=1" }, sees: "What the run found", signed: true, pictures: []picture{{"review-cause", 1280, "dark"}}},
	{pattern: "GET /p/{project}/review/history", path: inShop("review/history"), sees: "taken back", signed: true, pictures: []picture{plain("decisions")}},
	{pattern: "GET /p/{project}/drift", path: inShop("drift"), sees: "91 of 100", signed: true, pictures: []picture{plain("drift")}},
	{pattern: "GET /p/{project}/drift/runs/{run}", path: func(d *demo) string { return "/p/shop/drift/runs/" + d.run }, sees: "no file matches api/pricing/**", signed: true, pictures: []picture{plain("drift-run")}},
	{pattern: "GET /p/{project}/live", path: inShop("live"), sees: "Connected", signed: true, pictures: []picture{plain("live")}},
	{pattern: "GET /p/{project}/sessions", path: inShop("sessions"), sees: "meet another", signed: true, pictures: []picture{plain("sessions")}},
	{pattern: "GET /p/{project}/sessions/{id}", path: func(d *demo) string { return "/p/shop/sessions/" + d.session }, sees: "Served", signed: true, pictures: []picture{plain("session")}},
	{pattern: "GET /p/{project}/settings/doctor", path: inShop("settings/doctor"), press: "Examine the server", sees: "Nothing failed", signed: true},
	{pattern: "GET /p/{project}/settings", path: inShop("settings"), sees: "Tokens", signed: true, pictures: []picture{plain("settings")}},
}

// noPages are addresses that answer with something else than a page.
var noPages = map[string]string{ //nolint:gochecknoglobals // a table
	"GET /p/{project}/live/events": "the stream of the live page",
	"GET /static/{name}":           "scripts and the style sheet",
}

// Whoever adds a page has to have it opened in a browser, too.
func TestEveryPageIsTried(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var registered []string
	constants := map[string]string{} // by name, still quoted
	var calls []*ast.CallExpr
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i := range min(len(n.Names), len(n.Values)) {
					if value, ok := n.Values[i].(*ast.BasicLit); ok {
						constants[n.Names[i].Name] = value.Value
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Handle" || f.Sel.Name == "HandleFunc") {
					calls = append(calls, n)
				}
			}
			return true
		})
	}
	for _, call := range calls {
		quoted := ""
		switch pattern := call.Args[0].(type) {
		case *ast.BasicLit:
			quoted = pattern.Value
		case *ast.Ident:
			quoted = constants[pattern.Name]
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("a page is registered under an address that cannot be read here: %v", err)
		}
		if strings.HasPrefix(text, "GET ") {
			registered = append(registered, text)
		}
	}
	tried := slices.Collect(maps.Keys(noPages))
	for _, s := range screens {
		tried = append(tried, s.pattern)
	}
	slices.Sort(tried)
	slices.Sort(registered)
	for _, pattern := range registered {
		if !slices.Contains(tried, pattern) {
			t.Errorf("%s is no screen of screens_test.go: open it in a browser there", pattern)
		}
	}
	for _, pattern := range slices.Compact(tried) {
		if !slices.Contains(registered, pattern) {
			t.Errorf("%s is a screen and no page", pattern)
		}
	}
}

// Every page, with half a year of a shop in it, bright and dark, on a desk and on a phone: nothing that axe-core finds, nothing that
// sticks out, nothing the browser complains about. With -screenshots the pictures of the documentation are taken on the way.
func TestScreens(t *testing.T) { //nolint:tparallel // one window for all
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	d := newDemo(t)
	b, ok := d.tab(t) // one window for all: opening one takes longer than looking
	if !ok {
		return
	}
	for _, s := range screens {
		t.Run(s.pattern, func(t *testing.T) {
			b.t = t
			b.wide(1280, "light")
			if s.signed {
				b.signsIn(d.acme, memory.RoleAdmin)
			}
			b.opens(s.path(d))
			if s.press != "" {
				b.clicks(s.press)
			}
			b.sees(s.sees)
			b.does("bring axe-core", chromedp.Evaluate(string(axe), nil))
			for _, width := range []int64{1280, 360} {
				for _, scheme := range []string{"light", "dark"} {
					b.wide(width, scheme)
					b.isAccessible(fmt.Sprintf("%d px, %s", width, scheme))
					b.fits(fmt.Sprintf("%d px", width))
					for _, p := range s.pictures {
						if p.width == width && p.scheme == scheme {
							b.takes(p)
						}
					}
				}
			}
			b.clean(s.pattern)
		})
	}
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleReviewer} { //nolint:paralleltest // one window for all
		t.Run("as "+string(role), func(t *testing.T) {
			b.t = t
			b.asRole(d, role)
		})
	}
}

// offers are what the pages of the demo let somebody send; … is what differs from one to another.
var offers = map[memory.Role][]string{ //nolint:gochecknoglobals // a table
	memory.RoleAgent: {"elements/…", "memories/…/confirm", "review/decide confirm", "review/decide dispute"},
	memory.RoleReviewer: {
		"drift/badge", "drift/settings", "elements/…", "memories/…/confirm",
		"review/decide accept_binding", "review/decide confirm", "review/decide dispute", "review/decide edit", "review/decide keep", "review/decide merge",
		"review/decide promote", "review/decide reattach", "review/decide retire", "review/decide snooze", "review/undo",
		"settings/bindings", "settings/organization",
	},
}

// asRole opens every page as somebody of a role: what they may not do is not there.
func (b *tab) asRole(d *demo, role memory.Role) {
	b.t.Helper()
	b.wide(1280, "light")
	var found []string
	for _, s := range screens {
		if !s.signed {
			continue
		}
		b.signsIn(d.acme, role)
		b.opens(s.path(d))
		switch s.pattern {
		case "GET /p/{project}/settings/doctor":
			b.sees("needs the admin role")
			b.forgives()
		case "GET /p/{project}/settings":
			b.sees("What a recall goes over")
		default:
			b.sees(s.sees)
		}
		found = append(found, eval[[]string](b, `[...document.querySelectorAll("main form[method=post]")].flatMap((f) => {
			const to = new URL(f.getAttribute("action"), location).pathname.replace(/^\/p\/shop\//, "").replace(/(elements|memories|sessions)\/[^/]+/, "$1/…");
			const actions = [...f.querySelectorAll("[name=action]")].map((e) => to + " " + e.value);
			return actions.length ? actions : [to];
		})`)...)
		b.clean(fmt.Sprintf("%s as %s", s.pattern, role))
	}
	slices.Sort(found)
	if diff := gocmp.Diff(offers[role], slices.Compact(found)); diff != "" {
		b.t.Errorf("pages offer (-want +got)\n%s", diff)
	}
}

// isAccessible asks axe-core, which the page has to have, by all rules of WCAG 2.2 AA that it has and by what it calls best practice.
func (b *tab) isAccessible(what string) {
	b.t.Helper()
	for _, fault := range eval[[]string](b, `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then((found) => found.violations.flatMap((v) => v.nodes.slice(0, 4).map((n) => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary + "\n" + n.html)))`) {
		b.t.Errorf("%s: %s", what, fault)
	}
}

// fits checks that nothing makes the page scroll sideways.
func (b *tab) fits(what string) {
	b.t.Helper()
	for _, wide := range eval[[]string](b, `(() => {
		if (document.documentElement.scrollWidth <= innerWidth) return [];
		const scrolls = (e) => e && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
		return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
			.slice(0, 4).map((e) => e.outerHTML.slice(0, 120) + " ends at " + Math.round(e.getBoundingClientRect().right)).concat("the page is " + document.documentElement.scrollWidth + " wide")})()`) {
		b.t.Errorf("%s: %s", what, wide)
	}
}

// takes writes a picture, when pictures are asked for.
func (b *tab) takes(p picture) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	var shot []byte
	b.does("take a picture", chromedp.Evaluate("document.activeElement.blur(), scrollTo(0, 0)", nil), chromedp.CaptureScreenshot(&shot))
	small, err := reduced(shot)
	b.must(err)
	b.must(os.MkdirAll(*screenshots, 0o755))
	name := filepath.Join(*screenshots, p.name+".png")
	b.must(os.WriteFile(name, small, 0o644))
	if len(small) > mostPicture {
		b.t.Errorf("%s has %d bytes, more than %d", name, len(small), mostPicture)
	}
}

// reduced is a picture with its 256 commonest colours, which text on pages needs no more of.
func reduced(shot []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	count := map[color.RGBA]int{}
	bounds := from.Bounds()
	rgba := func(x, y int) color.RGBA {
		c, _ := color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
		return c
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[rgba(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.SetColorIndex(x, y, index[rgba(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
