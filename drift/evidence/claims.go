package evidence

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// Version changes whenever Claims may find other claims in the same text. What is known of a claim is kept by its place.
const Version = 1

// Kind says what a claim names.
type Kind string

// The kinds.
const (
	Path    Kind = "path"    // a tracked file or folder, or a glob of them
	Symbol  Kind = "symbol"  // an identifier, perhaps qualified: idArgumentResolvers, Store.Open, ns::type
	Literal Kind = "literal" // a text that stands in code as it is: a route, a name of a package, a key
)

// Claim is something that a text quotes as code, and whose disappearance from code would mean something.
type Claim struct {
	Text string `json:"text"` // without what belongs to the quotation: calls, lines, quotes
	Kind Kind   `json:"kind"`
	Line int    `json:"line,omitempty"` // where it stands in its text, from 1
}

// MaxClaims is how many claims of one text are followed: one that quotes more is a listing.
const MaxClaims = 20

// Claims gives what a Markdown text quotes as code, in the order of the text and each once, at most MaxClaims. Commands,
// placeholders, addresses, versions, flags and plain words are no claims.
func Claims(text string) []Claim {
	var out []Claim
	seen := map[Claim]bool{}
	for _, s := range statements(text) {
		for _, c := range s.Claims {
			id := Claim{Text: c.Text, Kind: c.Kind}
			if seen[id] {
				continue
			}
			if len(out) == MaxClaims {
				return out
			}
			seen[id] = true
			out = append(out, c)
		}
	}
	return out
}

const (
	minSymbol  = 4   // shorter names are variables of examples
	minLiteral = 6   // shorter texts stand everywhere
	maxClaim   = 160 // bytes; longer quotations are code, not names
)

var (
	placeholder = regexp.MustCompile(`[<>$…]|\.\.\.|\{\{|\b(?i:your|my|foo|bar|baz|xxx+|example|placeholder)\b|(?i:\b(?:your|my)[_-])`)
	address     = regexp.MustCompile(`^[\w+.-]+://|^www\.|^[\w.+-]+@[\w-]+\.\w|^(?:[\w-]+\.)+(?:com|org|net|io|dev|ai|app|in|sh|co|local|internal)(?:[:/]|$)|^localhost\b`)
	version     = regexp.MustCompile(`^[~^=<>v]*\d[\w.+-]*$`)
	declaration = regexp.MustCompile(`^(?:(?:export|public|private|async|pub)\s+)*(?:func|function|class|type|interface|struct|enum|def|fn|trait|object|record|const)\s+` +
		`(?:\([^)]*\)\s*)?([\p{L}_$][\p{L}\p{N}_$]*)`)
	call       = regexp.MustCompile(`^([\p{L}_$@][\p{L}\p{N}_$.:#]*!?)\((.*)\)$`)
	quoted     = regexp.MustCompile(`^(?:"([^"]+)"|'([^']+)')$`)
	lineSuffix = regexp.MustCompile(`(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$`)
	pathText   = regexp.MustCompile(`^[@\p{L}\p{N}_.(\[*{][\p{L}\p{N}_.+@()\[\]{},*?~/-]*$`)
	qualified  = regexp.MustCompile(`^[@#.]?[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::|->|#)[\p{L}_$][\p{L}\p{N}_$]*)*[!?]?$`)
	route      = regexp.MustCompile(`^/[\p{L}\p{N}_-]+(?:/[\p{L}\p{N}_:.-]+)+$`)
	plain      = regexp.MustCompile(`^[\p{L}\p{N} _./:@-]+$`) // no pattern, format or code
	npmPackage = regexp.MustCompile(`^@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*$`)
	separators = regexp.MustCompile(`\.|::|->|#`)
	humps      = regexp.MustCompile(`[\p{Ll}\p{N}]\p{Lu}|\p{Lu}\p{Lu}\p{Ll}`)
)

// classify decides what a quotation names, and reduces it to that.
func classify(text string) (Claim, bool) {
	t := strings.TrimSpace(text)
	if t == "" || len(t) > maxClaim || strings.HasPrefix(t, "-") || version.MatchString(t) || address.MatchString(t) {
		return Claim{}, false
	}
	if m := quoted.FindStringSubmatch(t); m != nil {
		inner := m[1] + m[2]
		if c, ok := classify(inner); ok && c.Kind == Path {
			return c, true
		}
		return literal(inner)
	}
	if m := declaration.FindStringSubmatch(t); m != nil {
		return symbol(m[1], true)
	}
	called := false
	if m := call.FindStringSubmatch(t); m != nil {
		t, called = m[1], true
	}
	t = strings.TrimRight(t, ";,")
	if placeholder.MatchString(t) || strings.ContainsAny(t, " \t=|&\"'`\\^%") {
		return Claim{}, false
	}
	if c, ok := pathClaim(t); ok && !called {
		return c, true
	}
	if route.MatchString(t) || npmPackage.MatchString(t) {
		return literal(t)
	}
	return symbol(t, called)
}

// fileTypes are endings that make a name a file's. Others are taken for members: user.name.
var fileTypes = strings.Fields(`go mod sum work py pyi js jsx ts tsx mjs cjs mts cts java kt kts scala sbt rs c h cc cpp cxx hh hpp cs fs vb csproj fsproj sln props
	targets rb rake php swift m mm sql sh bash zsh fish ps1 bat yaml yml json jsonc json5 jsonl toml ini cfg conf xml html htm css scss sass less md mdx mdc rst adoc txt
	csv tsv proto thrift avsc graphql gql tf tfvars hcl dsl c4 likec4 puml mmd gradle properties lock svelte vue astro ex exs erl hrl clj cljs lua dart zig nix bzl
	bazel cmake mk tmpl tpl j2 hbs ejs svg png ico wasm pl pm r jl hs ml mli el vim patch snap plist service`)

// fileNames are files without an ending.
var fileNames = strings.Fields("Dockerfile Makefile GNUmakefile Rakefile Gemfile Procfile Jenkinsfile Vagrantfile Justfile Tiltfile BUILD WORKSPACE CODEOWNERS LICENSE OWNERS")

// pathClaim recognises files and folders.
func pathClaim(t string) (Claim, bool) {
	p := lineSuffix.ReplaceAllString(t, "")
	if before, _, ok := strings.Cut(p, "::"); ok { // file.py::test
		p = before
	}
	p = strings.TrimPrefix(p, "./")
	if !pathText.MatchString(strings.TrimPrefix(p, "/")) || strings.Contains(p, "//") || npmPackage.MatchString(p) || !c4model.ValidPattern(p) {
		return Claim{}, false
	}
	base := path.Base(p)
	ending := strings.TrimPrefix(path.Ext(base), ".")
	isFile := len(ending) < len(base)-1 && slices.Contains(fileTypes, ending) || slices.Contains(fileNames, base)
	folder := strings.HasSuffix(p, "/")
	switch {
	case strings.HasPrefix(p, "/") && !isFile && !folder: // a route
		return Claim{}, false
	case strings.Trim(p, "*./") == "", strings.HasPrefix(p, "*.") && !strings.Contains(p, "/"): // every file of a type
		return Claim{}, false
	case strings.Contains(strings.Trim(p, "/"), "/"), isFile, folder, len(base) > 2 && base[0] == '.' && !strings.Contains(base[1:], "."):
		p = strings.TrimPrefix(p, "/")
		for strings.HasPrefix(p, "../") {
			p = p[len("../"):]
		}
		return Claim{Text: p, Kind: Path}, p != "" && len(p) > 2
	}
	return Claim{}, false
}

// products are names of things that are written like types.
var products = strings.Fields(`JavaScript TypeScript GitHub GitLab PostgreSQL MySQL SQLite MongoDB DynamoDB GraphQL WebSocket WebSockets OAuth OpenAPI OpenAI ChatGPT
	NodeJS NextJS VSCode IntelliJ PyCharm MacOS macOS iOS DevOps FastAPI PyTorch TensorFlow NumPy LaTeX YouTube LinkedIn BitBucket CircleCI RabbitMQ ClickHouse`)

// symbol recognises identifiers that look like code and not like words.
func symbol(t string, called bool) (Claim, bool) {
	t = strings.TrimRight(strings.TrimLeft(t, "@#."), "!?")
	if !qualified.MatchString(t) || slices.Contains(products, t) {
		return Claim{}, false
	}
	parts := separators.Split(t, -1)
	last := parts[len(parts)-1]
	if len(last) < minSymbol {
		return Claim{}, false
	}
	if !slices.ContainsFunc(parts, distinctive) && !called {
		return Claim{}, false
	}
	return Claim{Text: t, Kind: Symbol}, true
}

// distinctive tells identifiers from words: two words in one, by capitals or by a line.
func distinctive(name string) bool {
	return len(name) >= minSymbol && (strings.Contains(strings.Trim(name, "_"), "_") || humps.MatchString(name))
}

func literal(t string) (Claim, bool) {
	if len(t) < minLiteral || !plain.MatchString(t) || placeholder.MatchString(t) || address.MatchString(t) || version.MatchString(t) || !strings.ContainsAny(t, "/_-.: ") {
		return Claim{}, false
	}
	return Claim{Text: t, Kind: Literal}, true
}

// words are the identifiers that a symbol needs: its last part, and each part that cannot be a word by chance.
func (c Claim) words() []string {
	parts := separators.Split(c.Text, -1)
	var out []string
	for n, p := range parts {
		if n == len(parts)-1 || distinctive(p) {
			out = append(out, p)
		}
	}
	return out
}
