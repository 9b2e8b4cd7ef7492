package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/memory"
)

//go:embed templates/*.gohtml
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// views are the templates, each page with the layout around it.
type views struct {
	pages map[string]*template.Template
}

func newViews() *views {
	base := template.Must(template.New("layout").Funcs(functions).ParseFS(templateFiles, "templates/layout.gohtml", "templates/parts.gohtml"))
	names, err := fs.Glob(templateFiles, "templates/*.gohtml")
	if err != nil {
		panic(err) // the pattern is ours
	}
	v := &views{pages: map[string]*template.Template{}}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".gohtml")
		if page != "layout" && page != "parts" {
			v.pages[page] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, name))
		}
	}
	return v
}

// screen is what the layout shows around a page.
type screen struct {
	Title   string
	Page    string // name of the template
	Project string // name, "" outside of one
	Base    string // address of the project's pages, without a slash at the end
	User    string
	Role    memory.Role
	Here    string // address of this page, "/" when a form led to it
	Path    string // of this page, below that of the project
	Theme   string
	Version string
	Data    any
}

// show answers with a page. A request of htmx for a part gets the part that its target names, without the layout.
func (v *visit) show(code int, page, title string, data any) error {
	s := screen{Title: title, Page: page, User: v.caller.User, Role: v.caller.Role, Here: v.r.URL.RequestURI(), Theme: theme(v.r), Version: v.Version, Data: data}
	if v.r.Method != http.MethodGet {
		s.Here = "/"
	}
	_, s.Path, _ = strings.Cut(strings.TrimPrefix(v.r.URL.EscapedPath(), "/p/"), "/")
	if v.project.Name != "" {
		s.Project, s.Base = v.project.Name, "/p/"+url.PathEscape(v.project.Name)
	}
	t := v.views.pages[page]
	name := "layout"
	if part := v.r.Header.Get("Hx-Target"); part != "" && t.Lookup("part-"+part) != nil {
		name = "part-" + part
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, s); err != nil {
		return fmt.Errorf("page %s: %w", page, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Vary", "Hx-Request, Hx-Target")
	v.w.WriteHeader(code)
	_, _ = v.w.Write(b.Bytes()) // whoever went away needs no answer
	return nil
}

// functions are what templates can do.
var functions = template.FuncMap{
	"asset":    asset,
	"markdown": markdown,
	"ago":      func(at time.Time) string { return memory.Ago(now().Sub(at)) },
	"moment":   func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") },
	"machine":  func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
	"kind":     func(k memory.Kind) string { return strings.ReplaceAll(string(k), "_", " ") },
	"title":    memory.TitleOf,
	"line":     func(text any) string { return memory.Line(fmt.Sprint(text)) },
	"code":     func(text string) string { return strings.ReplaceAll(memory.Plain(text), "\t", "    ") },
	"segment":  url.PathEscape,
	"percent":  func(f float64) int { return int(f*100 + 0.5) },
	"themes":   func() []string { return themes },
	"part":     func(s screen, data any) screen { s.Data = data; return s },
	"tab":      tabOf,
	"filters":  func() map[string]string { return mapFilters },
	"did":      didWords,
	"reason":   reasonWords,
	"score":    func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) },
	"short":    shortCommit,
	"join":     func(words []string) string { return memory.Line(strings.Join(words, ", ")) },
	"kinds":    func() []memory.Kind { return memory.Kinds },
}

// shortCommit is a commit as people name it.
func shortCommit(commit string) string { return memory.Line(commit[:min(len(commit), 8)]) }

// tab is a page in the navigation.
type tab struct {
	Name, Address string
	Here          bool
}

func tabOf(s screen, page, name string) tab {
	return tab{Name: name, Address: s.Base + "/" + page, Here: s.Path == page || page != "" && strings.HasPrefix(s.Path, page+"/")}
}

// assets are the static files by name, each with a part of its hash, so that browsers keep them for good.
var assets = func() map[string][]byte {
	out := map[string][]byte{}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		text, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		out[e.Name()] = text
	}
	out["diagram.css"] = []byte(diagram.Sheet)
	return out
}()

// asset is the address of a static file.
func asset(name string) (string, error) {
	text, ok := assets[name]
	if !ok {
		return "", fmt.Errorf("there is no static file %q", name)
	}
	sum := sha256.Sum256(text)
	return "/static/" + name + "?" + hex.EncodeToString(sum[:6]), nil
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, ok := assets[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})).ServeHTTP(w, r)
}

// compressed answers in gzip to whoever takes it.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || r.Header.Get("Range") != "" {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w}
		defer c.close()
		next.ServeHTTP(c, r)
	})
}

// compressor compresses what has a body.
type compressor struct {
	http.ResponseWriter
	zip *gzip.Writer
	off bool // an answer without a body, or one that is a stream
}

func (c *compressor) WriteHeader(code int) {
	if code == http.StatusNoContent || code == http.StatusNotModified || code >= 300 && code < 400 || c.Header().Get("Content-Type") == "text/event-stream" {
		c.off = true
	} else {
		c.Header().Set("Content-Encoding", "gzip")
		c.Header().Del("Content-Length")
		c.zip = gzip.NewWriter(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *compressor) Write(b []byte) (int, error) {
	if c.zip == nil && !c.off {
		if c.Header().Get("Content-Type") == "" {
			c.Header().Set("Content-Type", http.DetectContentType(b))
		}
		c.WriteHeader(http.StatusOK)
	}
	if c.off {
		return c.ResponseWriter.Write(b)
	}
	return c.zip.Write(b)
}

// Unwrap lets http.ResponseController reach what is below.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *compressor) close() {
	if c.zip != nil {
		_ = c.zip.Close()
	}
}
