package c4model

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Binding says that the files of a pattern belong to an element.
type Binding struct {
	Element    string `json:"element"`              // key
	Pattern    string `json:"pattern"`              // gitignore style, relative to the root of the repository, see NormalizePattern
	Repository string `json:"repository,omitempty"` // "" is the repository that holds the model
	Source     string `json:"source"`               // where it comes from, in words: "property path", "url", "technology"
}

// Tree is what BindingHints may know about the repository that holds the model; the zero Tree knows nothing.
type Tree struct {
	// Remotes are the addresses of the repository as git spells them (https or ssh). A link below one of them points
	// inside the repository.
	Remotes []string
	// ModelDir is the folder of the model's root inside the repository, "" or "." at the top. Relative links start at
	// the file that states them; Element.Source.File is relative to this folder.
	ModelDir string
	// Exists tells whether a path relative to the root of the repository is a tracked file or folder. Nil: unknown, and
	// then no technology is taken for a path.
	Exists func(path string) bool
}

// pathProperties name source paths. The value says whether a single word without dot or slash is believed: "code" and
// "source" often hold a language instead.
var pathProperties = map[string]bool{
	"path": true, "paths": true, "file": true, "src": true, "component.src": true, "code": false, "source": false,
}

// BindingHints gives the bindings that the model itself states: source paths in properties, links that point inside the
// repository, and a technology that is an existing path. They are in order of elements and property names, without
// duplicates. Hints that cannot be used are warnings.
func BindingHints(m *Model, tree Tree) ([]Binding, []Warning) {
	h := &hints{tree: tree}
	for _, remote := range tree.Remotes {
		if r := canonicalRemote(remote); r != "" {
			h.remotes = append(h.remotes, r)
		}
	}
	for _, e := range m.Elements {
		names := make([]string, 0, len(e.Properties))
		for name := range e.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if word, ok := pathProperties[strings.ToLower(name)]; ok {
				h.property(e, name, word)
			} else if lower := strings.ToLower(name); lower == "url" || lower == "link" {
				for link := range strings.SplitSeq(e.Properties[name], "\n") { // readers keep several links one a line
					h.link(e, "property "+name, link)
				}
			}
		}
		h.link(e, "url", e.URL)
		if t := strings.TrimSpace(e.Technology); tree.Exists != nil && strings.ContainsAny(t, "/.") {
			if pattern, err := NormalizePattern(t); err == nil && tree.Exists(strings.Trim(pattern, "/")) {
				h.add(e, pattern, "technology")
			}
		}
	}
	return h.bindings, h.warnings
}

type hints struct {
	tree     Tree
	remotes  []string
	bindings []Binding
	warnings []Warning
}

func (h *hints) add(e Element, pattern, source string) {
	if literal := strings.Trim(pattern, "/"); strings.ContainsAny(literal, "*?[{") && h.tree.Exists != nil && h.tree.Exists(literal) {
		pattern = globMeta.Replace(pattern) // a file that is called like a glob, such as app/[id]/page.tsx
	}
	b := Binding{Element: e.Key, Pattern: pattern, Source: source}
	if !slices.ContainsFunc(h.bindings, func(o Binding) bool { return o.Element == b.Element && o.Pattern == b.Pattern }) {
		h.bindings = append(h.bindings, b)
	}
}

var globMeta = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

func (h *hints) property(e Element, name string, believeWords bool) {
	for _, value := range listed(e.Properties[name]) {
		value = strings.TrimSpace(value)
		switch {
		case value == "":
			continue
		case strings.Contains(value, "://") || strings.HasPrefix(value, "git@"):
			h.link(e, "property "+name, value)
			continue
		case !believeWords && !strings.ContainsAny(value, "/.*") && (h.tree.Exists == nil || !h.tree.Exists(value)):
			continue
		}
		pattern, err := NormalizePattern(value)
		if err != nil {
			reason := err.Error()
			if p, ok := problem.As(err); ok {
				reason = p.Detail
			}
			h.warnings = append(h.warnings, Warning{Position: e.Source, Message: fmt.Sprintf("the property %s of %s names no files of the repository: %s", name, e.Key, reason)})
			continue
		}
		h.add(e, pattern, "property "+name)
	}
}

// listed splits a property that holds several paths. A comma within braces or a class belongs to a glob, and so does a brace in a class:
// it is an ordinary character there.
func listed(value string) []string {
	depth, class := 0, 0 // class is where the class at hand ends
	var out []string
	from := 0
	add := func(path string) {
		if path != "" {
			out = append(out, path)
		}
	}
	for i, r := range value {
		switch {
		case i < class:
			continue
		case r == '[':
			class = i + max(0, classEnd(value[i:]))
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ';' || r == '\n' || r == ',' && depth <= 0:
			add(value[from:i])
			from = i + 1
		}
	}
	add(value[from:])
	return out
}

// classEnd is where the class ends that a text begins with; -1 when it is none.
func classEnd(text string) int {
	end := strings.IndexByte(text, ']')
	if end < 0 || strings.ContainsAny(text[:end], "/;\n") {
		return -1
	}
	return end
}

// link takes a link for a path when it points inside the repository; any other link is just a link.
func (h *hints) link(e Element, source, link string) {
	link = strings.TrimSpace(link)
	if link == "" || strings.HasPrefix(link, "#") {
		return
	}
	var inside string
	if !strings.Contains(link, "://") {
		if !strings.Contains(link, "/") || strings.Contains(link, ":") {
			return
		}
		link, _, _ = strings.Cut(link, "#")
		if strings.HasPrefix(link, "/") {
			return
		}
		inside = path.Join(h.tree.ModelDir, path.Dir(e.Source.File), link)
	} else if inside = h.below(link); inside == "" {
		return
	}
	pattern, err := NormalizePattern(inside)
	if err != nil || pattern == "**" || h.tree.Exists != nil && !h.tree.Exists(strings.Trim(pattern, "/")) {
		return
	}
	h.add(e, pattern, source)
}

// forgePath takes the branch off the path of a page that shows a file or folder, as GitHub, GitLab, Gitea and Bitbucket
// write it.
var forgePath = regexp.MustCompile(`^(?:-/)?(?:tree|blob|raw|src(?:/branch)?)/(.+)$`)

// below gives the path inside the repository of a link to one of its pages, "" for any other link.
func (h *hints) below(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	whole := canonicalRemote(u.Host + "/" + strings.Trim(u.Path, "/"))
	for _, remote := range h.remotes {
		rest, ok := strings.CutPrefix(whole, remote+"/")
		if !ok {
			continue
		}
		// The host and the owner are compared without case, the path must keep it.
		clean := strings.Trim(u.Path, "/")
		m := forgePath.FindStringSubmatch(clean[len(clean)-len(rest):])
		if m == nil {
			return ""
		}
		_, inside, _ := strings.Cut(m[1], "/")
		for h.tree.Exists != nil && inside != "" && !h.tree.Exists(inside) { // a branch with slashes in its name
			_, inside, _ = strings.Cut(inside, "/")
		}
		return inside
	}
	return ""
}

// canonicalRemote gives "host/owner/repository" in lower case for any spelling of a remote.
func canonicalRemote(remote string) string {
	remote = strings.TrimSpace(strings.ToLower(remote))
	if _, rest, ok := strings.Cut(remote, "://"); ok {
		remote = rest
		if host, path, ok := strings.Cut(remote, "/"); ok {
			host = host[strings.LastIndexByte(host, '@')+1:]
			host, _, _ = strings.Cut(host, ":")
			remote = host + "/" + path
		}
	} else if user, rest, ok := strings.Cut(remote, "@"); ok && !strings.Contains(user, "/") {
		remote = strings.Replace(rest, ":", "/", 1)
	}
	return strings.TrimSuffix(strings.Trim(remote, "/"), ".git")
}

// machinePath recognises a path of somebody's machine. A single leading slash alone is gitignore's way to say "at the root
// of the repository".
var machinePath = regexp.MustCompile(`^(//|~|[A-Za-z]:|/(home|Users|root)/|file:)`)

var lineSuffix = regexp.MustCompile(`(#L\d+(-L?\d+)?|:\d+(:\d+)?)$`)

// NormalizePattern gives a path or glob written by a person as a gitignore-style pattern relative to the root of the
// repository: slashes, no "./", no line number, and a leading "/" only where the pattern would otherwise match in every
// folder (no other slash). Names without slash and wildcard get one. Paths of a machine, "..", negations, unclosed globs
// and empty patterns are refused.
func NormalizePattern(written string) (string, error) {
	p := strings.TrimSpace(strings.ReplaceAll(written, `\`, "/"))
	p = lineSuffix.ReplaceAllString(p, "")
	switch {
	case p == "":
		return "", problem.Invalidf("pattern", "it is empty").Fix("write a path such as services/api")
	case machinePath.MatchString(p):
		return "", problem.Invalidf("pattern", "%q is absolute", written).Fix("write it relative to the root of the repository")
	case strings.HasPrefix(p, "!"):
		return "", problem.Invalidf("pattern", "%q excludes files", written).Fix("name the files that belong to the element")
	case strings.ContainsAny(p, "\x00\n\r"):
		return "", problem.Invalidf("pattern", "%q holds a control character", written)
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return "", problem.Invalidf("pattern", "%q leaves its folder with ..", written).Fix("write it relative to the root of the repository")
	}
	folder := strings.HasSuffix(p, "/")
	anchored := strings.HasPrefix(p, "/")
	p = strings.TrimPrefix(path.Clean(p), "/")
	if p == "." || p == "" {
		return "**", nil
	}
	if !ValidPattern(p) {
		return "", problem.Invalidf("pattern", "%q is no valid glob", written).Fix("close every [ and {")
	}
	if strings.HasPrefix(p, "#") {
		p = `\` + p
	}
	if !strings.Contains(p, "/") && (anchored || !strings.ContainsAny(p, "*?[{")) {
		p = "/" + p
	}
	if folder {
		p += "/"
	}
	return p, nil
}
