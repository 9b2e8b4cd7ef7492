// Package bind proposes which files the elements of a model stand for, by their names: folders, files, manifests, services
// of compose files, titles of readmes. It proposes; nothing is bound by a name alone.
package bind

import (
	"cmp"
	"context"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
)

// Input is what a proposal is made from. The same input gives the same proposals.
type Input struct {
	Model    *c4model.Model
	Bindings []c4model.Binding // there already, relative to the top of the repository
	None     map[string]string // elements that have no code, by key
	Root     string            // folder of the project inside the repository, "" at the top
	Files    []string          // tracked files of the project, relative to the top of the repository, sorted
	Name     string            // what the repository is called; its words in front of a name say nothing
	// Read gives the text of a file of at most limit bytes, for the names in manifests. Nil: paths alone are looked at.
	Read func(name string, limit int64) ([]byte, error)
}

// Suggestion is one proposal. There is at most one for an element, and no two share a pattern.
type Suggestion struct {
	Element    string        `json:"element"` // key
	Name       string        `json:"name"`
	Level      c4model.Level `json:"level"`
	Pattern    string        `json:"pattern"`    // relative to the folder of the project's stele.yaml
	Confidence float64       `json:"confidence"` // 0 to 1, two digits: how many of such proposals are right
	Reasons    []string      `json:"reasons"`
	Files      int           `json:"files"`  // tracked files that the pattern covers
	Sample     []string      `json:"sample"` // the first of them, at most 3
}

const (
	// lowest is the confidence under which nothing is proposed.
	lowest = 0.5
	// sure is the confidence from which a folder narrows the search for what the element holds.
	sure = 0.8
	// rival is how near the second best may come before neither is proposed.
	rival = 0.9
	// maxSample bounds the files that a suggestion names.
	maxSample = 3
	// maxCandidates bounds what is weighed for one element; a name that more go by says nothing.
	maxCandidates = 300
)

// Suggest proposes files for the elements that are in scope and bound to none, in order of the model.
func Suggest(ctx context.Context, in Input) ([]Suggestion, error) {
	s := newSearch(in)
	for i := range in.Model.Elements { // parents come first, and what is found for them narrows the search
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.find(i)
	}
	s.settle()
	out := []Suggestion{}
	for i, e := range in.Model.Elements {
		if best := s.found[i]; best != nil && best.confidence >= lowest {
			out = append(out, Suggestion{
				Element: e.Key, Name: e.Name, Level: e.Level, Pattern: best.target.pattern(), Confidence: best.confidence, Reasons: best.reasons, Sample: []string{},
			})
		}
	}
	patterns := make([]string, len(out))
	for i := range out {
		patterns[i] = out[i].Pattern
	}
	ownership := c4model.NewOwnership(patterns)
	for _, name := range in.Files {
		for _, i := range ownership.Covering(relative(in.Root, name)) {
			if out[i].Files++; out[i].Files <= maxSample {
				out[i].Sample = append(out[i].Sample, name)
			}
		}
	}
	return out, nil
}

// pattern covers the target. A name that is written like a glob is matched by ? in the place of what means something.
func (t *target) pattern() string {
	plain := strings.NewReplacer("[", "?", "]", "?", "{", "?", "}", "?", `\`, "?")
	if t.file {
		p := plain.Replace(t.path)
		if !strings.Contains(p, "/") {
			p = "/" + p
		}
		return p
	}
	folder := plain.Replace(strings.ReplaceAll(t.path, "*", "?"))
	if t.twin != "" {
		return folder + "{" + t.twin + ",/**}"
	}
	return folder + "/**"
}

// prefixes are what may stand in front of a name without saying more: the names of the repository, of the model and of the
// system when there is one.
func (in Input) prefixes() [][]string {
	names := []string{in.Name, in.Model.Name}
	systems := 0
	for _, e := range in.Model.Elements {
		if e.Level == c4model.System && e.InScope() {
			systems++
			names = append(names, e.Name)
		}
	}
	if systems > 1 {
		names = names[:2]
	}
	return prefixesOf(names)
}

func prefixesOf(names []string) [][]string {
	var out [][]string
	for _, name := range names {
		if w := words(name); len(w) > 0 {
			out = append(out, w)
			if n := len(w); n > 1 && kinds[w[n-1]] {
				out = append(out, w[:n-1])
			}
		}
	}
	return out
}

func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// candidate is a target that an element may be bound to.
type candidate struct {
	target     *target
	kinds      map[evidence]float64 // the best quality of each kind of name that agrees
	byName     bool                 // not by its identifier alone
	rivalled   bool                 // a file has the name too
	confidence float64
	reasons    []string
}

type search struct {
	in       Input
	projects [][]string
	byName   map[string][]hit
	index    map[string]int // element key → index
	bound    []bool
	folder   []string // of each element, "" while unknown
	taken    map[string]bool
	found    []*candidate
}

// hit is one name of a target.
type hit struct {
	target *target
	name   named
}

func newSearch(in Input) *search {
	n := len(in.Model.Elements)
	s := &search{
		in: in, projects: in.prefixes(), byName: map[string][]hit{}, index: map[string]int{},
		bound: make([]bool, n), folder: make([]string, n), taken: map[string]bool{}, found: make([]*candidate, n),
	}
	for _, t := range survey(in) {
		for _, name := range t.names {
			key := joined(name.words)
			s.byName[key] = append(s.byName[key], hit{t, name})
		}
	}
	for i, e := range in.Model.Elements {
		s.index[c4model.FoldKey(e.Key)] = i
	}
	for _, b := range in.Bindings {
		i, ok := s.index[c4model.FoldKey(b.Element)]
		if !ok || b.Repository != "" {
			continue
		}
		s.bound[i] = true
		prefix := relative(in.Root, c4model.StaticPrefix(strings.TrimPrefix(b.Pattern, "/")))
		s.taken[prefix] = true
		if s.folder[i] == "" {
			s.folder[i] = prefix
		}
	}
	return s
}

// find looks for the target of one element.
func (s *search) find(i int) {
	e := s.in.Model.Elements[i]
	if _, none := s.in.None[e.Key]; none || s.bound[i] || !e.InScope() || s.isWhole(e) {
		return
	}
	around := s.around(e)
	best := s.candidates(e, around)
	if len(best) == 0 {
		return
	}
	first := best[0]
	if len(best) > 1 && best[1].confidence >= first.confidence*rival {
		return // nothing tells them apart
	}
	s.found[i] = first
	if !first.target.file && first.confidence >= sure && !startsElsewhere(first.target.path) {
		s.folder[i] = first.target.path
	}
}

// startsElsewhere tells a folder that holds the start of a program whose parts lie elsewhere, as Go lays them out.
func startsElsewhere(folder string) bool {
	return folder == "cmd" || path.Base(path.Dir(folder)) == "cmd"
}

// isWhole tells a system with something inside: its code is that of what it holds.
func (s *search) isWhole(e c4model.Element) bool {
	return e.Level == c4model.System && slices.ContainsFunc(s.in.Model.Elements, func(o c4model.Element) bool { return o.Parent == e.Key })
}

// around gives the elements that hold one, the innermost first.
func (s *search) around(e c4model.Element) []c4model.Element {
	var out []c4model.Element
	for i, ok := s.index[c4model.FoldKey(e.Parent)]; ok && e.Parent != ""; i, ok = s.index[c4model.FoldKey(e.Parent)] {
		e = s.in.Model.Elements[i]
		out = append(out, e)
	}
	return out
}

// candidates gives what an element may be, the best first.
func (s *search) candidates(e c4model.Element, around []c4model.Element) []*candidate {
	parent := ""
	for _, p := range around {
		if at := s.index[c4model.FoldKey(p.Key)]; s.folder[at] != "" {
			parent = s.folder[at]
			break
		}
	}
	byTarget := map[*target]*candidate{}
	var out []*candidate
	for _, f := range s.forms(e, around) {
		for _, h := range s.byName[joined(f.words)] {
			t := h.target
			if t.file && e.Level != c4model.Component && e.Level != c4model.Code || s.taken[t.path] || parent == t.path {
				continue
			}
			quality := f.quality * h.name.quality
			if f.local && (parent == "" || !below(t.path, parent)) {
				quality *= astray
			}
			c := byTarget[t]
			if c == nil {
				c = &candidate{target: t, kinds: map[evidence]float64{}}
				byTarget[t] = c
				out = append(out, c)
			}
			switch kind := h.name.kind; {
			case f.identifier && c.byName: // what the name says is worth more
			case !f.identifier && !c.byName:
				c.kinds, c.byName = map[evidence]float64{kind: quality}, true
			default:
				c.kinds[kind] = max(c.kinds[kind], quality)
			}
			if reason := "named like " + h.name.because; !slices.Contains(c.reasons, reason) {
				c.reasons = append(c.reasons, reason)
			}
		}
	}
	if parent != "" && slices.ContainsFunc(out, func(c *candidate) bool { return below(c.target.path, parent) }) {
		out = slices.DeleteFunc(out, func(c *candidate) bool { return !below(c.target.path, parent) })
	}
	if len(out) > maxCandidates {
		return nil
	}
	for _, c := range out {
		s.weigh(c, e, parent)
	}
	preferFolders(out)
	out = slices.DeleteFunc(out, func(c *candidate) bool {
		return c.confidence == 0 || slices.ContainsFunc(out, func(o *candidate) bool { // the same name within itself
			return o != c && o.confidence >= c.confidence*rival && o.target.path != c.target.path && !o.target.file && below(c.target.path, o.target.path)
		})
	})
	slices.SortStableFunc(out, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.confidence, a.confidence), strings.Compare(a.target.path, b.target.path))
	})
	return out
}

// preferFolders puts a folder of the name over a file elsewhere that has it too.
func preferFolders(out []*candidate) {
	for _, c := range out {
		at := slices.IndexFunc(out, func(o *candidate) bool { return !o.target.file && o.confidence >= c.confidence })
		if c.target.file && at >= 0 && !below(c.target.path, out[at].target.path) {
			c.confidence *= besideFolder
			out[at].rivalled = true
		}
	}
	for _, c := range out {
		if c.rivalled {
			c.confidence = math.Floor(c.confidence*overFile*100) / 100
		}
	}
}

// elementForm is a spelling of an element.
type elementForm struct {
	form
	local      bool // it says something only inside the element around: "core" of "User Core" in "User"
	identifier bool // from the identifier, not the name
}

// forms are the spellings of an element, by its name and by its identifier.
func (s *search) forms(e c4model.Element, around []c4model.Element) []elementForm {
	var out []elementForm
	add := func(forms []form, local, identifier bool) {
		for _, f := range forms {
			if !slices.ContainsFunc(out, func(o elementForm) bool { return joined(o.words) == joined(f.words) }) {
				out = append(out, elementForm{f, local, identifier})
			}
		}
	}
	names := make([]string, 0, len(around))
	for _, p := range around {
		names = append(names, p.Name, lastPart(p.Key))
	}
	add(spellings(words(e.Name), s.projects, 1), false, false)
	add(spellings(words(e.Name), prefixesOf(names), 1), true, false)
	if id := lastPart(e.Key); !strings.HasPrefix(id, "~") && len(id) > 1 { // one letter names nothing
		add(spellings(words(id), s.projects, 1), false, true)
		add(spellings(words(id), prefixesOf(names), 1), true, true)
	}
	return out
}

// The weights of what speaks for and against a candidate. They were set on models of public repositories so that a proposal of
// confidence c is right in c of all cases; see docs/bindings.md.
const (
	nameAlone     = 0.91 // an exact name, alone, and nothing against it
	inside        = 1.1  // inside the folder of the element around
	outside       = 0.45 // outside it
	sameLanguage  = 1.04
	otherLanguage = 0.2
	byIdentifier  = 0.85 // the identifier alone, where the name says something else
	astray        = 0.75 // a name that says something only inside the element around, elsewhere
	secondKind    = 0.5  // how much of the doubt another kind of evidence takes away
	besideFolder  = 0.85 // a file, where a folder elsewhere has the name too
	overFile      = 0.97 // that folder
	commonName    = 0.8  // a name that many repositories have
	noUnit        = 0.9  // a container or system that is nothing that is built by itself
	inSide        = 0.4  // among tests, examples or documents
	noCode        = 0.5
	aSystem       = 0.7 // a system beside the one that the repository is: most are somebody else's
	notCode       = 0.5 // the technology is a product that is run, not written
)

// weigh gives a candidate its confidence.
func (s *search) weigh(c *candidate, e c4model.Element, parent string) {
	t := c.target
	qualities := make([]float64, 0, len(c.kinds))
	for _, q := range c.kinds {
		qualities = append(qualities, q)
	}
	slices.Sort(qualities)
	slices.Reverse(qualities)
	score := qualities[0] * nameAlone
	for _, q := range qualities[1:] {
		score += (1 - score) * secondKind * q
	}
	if len(words(e.Name)) == 1 && common[words(e.Name)[0]] && len(c.kinds) == 1 && parent == "" {
		score *= commonName
	}
	if !c.byName {
		score *= byIdentifier
	}
	switch {
	case parent == "":
	case below(t.path, parent):
		score *= inside
		c.reasons = append(c.reasons, "inside "+parent)
	default:
		score *= outside
	}
	if want := imports.Languages(e.Technology); len(want) > 0 {
		if slices.ContainsFunc(want, func(l imports.Language) bool { return t.languages[l] > 0 }) {
			score *= sameLanguage
			c.reasons = append(c.reasons, "holds "+e.Technology)
		} else {
			score *= otherLanguage
		}
	} else if isProduct(e) {
		score *= notCode
	}
	if t.code == 0 {
		score *= noCode
	}
	if e.Level == c4model.System {
		score *= aSystem
	}
	if t.side {
		score *= inSide
	}
	if !t.unit && (e.Level == c4model.Container || e.Level == c4model.System) {
		score *= noUnit
	}
	const most = 0.99 // a name is never proof
	c.confidence = math.Floor(min(score, most)*100) / 100
}

// products are technologies that a project runs and does not write.
var products = []string{
	"postgres", "mysql", "mariadb", "sqlite", "mongo", "redis", "kafka", "rabbitmq", "elasticsearch", "opensearch", "dynamodb", "s3", "sqs", "sns", "cassandra",
	"neo4j", "nats", "memcached", "oracle", "sql server", "keycloak", "prometheus", "grafana", "bigquery", "snowflake", "clickhouse", "database", "minio", "relational",
	"aws", "amazon", "gcp", "google", "azure", "microsoft", "twilio", "stripe", "managed service", "saas",
}

func isProduct(e c4model.Element) bool {
	technology := strings.ToLower(e.Technology)
	return slices.ContainsFunc(products, func(p string) bool { return strings.Contains(technology, p) })
}

// settle leaves a target to one of the elements that want it: to the one around the others, else to the surest. Where nothing
// tells them apart, none gets it.
func (s *search) settle() {
	claims := map[string][]int{}
	for i, c := range s.found {
		if c != nil {
			claims[c.target.path] = append(claims[c.target.path], i)
		}
	}
	for _, claimants := range claims {
		winner := slices.IndexFunc(claimants, func(i int) bool {
			return !slices.ContainsFunc(claimants, func(j int) bool {
				return i != j && !s.holds(i, j) && s.found[j].confidence >= s.found[i].confidence*rival
			})
		})
		for at, i := range claimants {
			if at != winner {
				s.found[i] = nil
			}
		}
	}
}

// holds tells whether element a is around b.
func (s *search) holds(a, b int) bool {
	key := s.in.Model.Elements[a].Key
	return slices.ContainsFunc(s.around(s.in.Model.Elements[b]), func(e c4model.Element) bool { return e.Key == key })
}
