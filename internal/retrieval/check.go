package retrieval

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/stele-dev/stele/memory/terms"
)

// maxAgeDays is how far back memories may go from the project's day. Freshness halves every 45 days, so that the oldest
// have next to none of it left.
const maxAgeDays = 400

var (
	memoryKinds  = []string{"pitfall", "convention", "note", "session_outcome"}
	elementKinds = []string{"system", "container", "component", "code"}
	idPattern    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	link         = regexp.MustCompile(`\[\[([^\[\]]+)\]\]`)
	source       = regexp.MustCompile(`^([^:]+):([1-9][0-9]*)$`)
)

// index finds the parts of a set by what names them.
type index struct {
	projects map[string]*Project
	elements map[string]*Element
	memories map[string]*Memory
}

// checker gathers faults.
type checker struct {
	*Set
	index

	faults []error
}

func (c *checker) fault(id, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s: %s", id, fmt.Sprintf(format, args...)))
}

// Check gives everything that is wrong with the set, in the order of its records: names that lead nowhere or are taken,
// texts that occur twice, paths and dates that cannot be, and queries that are not of the kind they claim to be.
func (s *Set) Check() []error {
	c := &checker{Set: s, index: index{map[string]*Project{}, map[string]*Element{}, map[string]*Memory{}}}
	for i := range s.Projects {
		c.project(&s.Projects[i])
	}
	for i := range s.Elements {
		c.element(&s.Elements[i])
	}
	texts, titles := map[string]string{}, map[string]string{}
	for i := range s.Memories {
		c.memory(&s.Memories[i])
		c.unique(texts, "content", &s.Memories[i], s.Memories[i].Content)
		c.unique(titles, "title", &s.Memories[i], s.Memories[i].Title)
	}
	ids, questions := map[string]bool{}, map[string]string{}
	for i := range s.Queries {
		q := &s.Queries[i]
		if ids[q.ID] || c.memories[q.ID] != nil {
			c.fault(q.ID, "the id is taken")
		}
		ids[q.ID] = true
		key := q.Project + "\x00" + terms.Fold(q.Text) + "\x00" + strings.Join(q.Paths, "\x00")
		if other, ok := questions[key]; ok {
			c.fault(q.ID, "%s asks the same", other)
		}
		questions[key] = q.ID
		c.query(q)
	}
	return c.faults
}

// unique complains about a text that another memory of the project has, but for case, blanks and the full stop.
func (c *checker) unique(seen map[string]string, what string, m *Memory, text string) {
	if text == "" {
		return
	}
	key := m.Project + "\x00" + terms.Fold(terms.Normalise(text))
	if other, ok := seen[key]; ok {
		c.fault(m.ID, "%s has the same %s", other, what)
	}
	seen[key] = m.ID
}

func (c *checker) project(p *Project) {
	if c.projects[p.ID] != nil {
		c.fault(p.ID, "the id is taken")
	}
	c.projects[p.ID] = p
	if !idPattern.MatchString(p.ID) {
		c.fault(p.ID, "an id is lower-case letters, digits and hyphens")
	}
	if p.AsOf.IsZero() {
		c.fault(p.ID, "as_of is missing")
	}
}

func (c *checker) element(e *Element) {
	if c.elements[e.Key] != nil {
		c.fault(e.Key, "the key is taken")
	}
	c.elements[e.Key] = e
	if c.projects[e.Project] == nil {
		c.fault(e.Key, "no project %q", e.Project)
	}
	if e.Key != e.Project && !strings.HasPrefix(e.Key, e.Project+".") {
		c.fault(e.Key, "the key does not begin with its project %q", e.Project)
	}
	if !slices.Contains(elementKinds, e.Kind) {
		c.fault(e.Key, "%q is no kind of element", e.Kind)
	}
	if parent, _, ok := cutLast(e.Key); ok && c.elements[parent] == nil {
		c.fault(e.Key, "its parent %s is not before it", parent)
	}
	if e.Name == "" {
		c.fault(e.Key, "the name is missing")
	}
	c.paths(e.Key, e.Paths)
}

func cutLast(key string) (parent, last string, ok bool) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}

// paths complains about what is no repository-relative path or glob.
func (c *checker) paths(id string, paths []string) {
	for _, p := range paths {
		if p == "" || strings.HasPrefix(p, "/") || strings.Contains(p, `\`) || path.Clean(p) != p || strings.HasPrefix(p, "..") || !doublestar.ValidatePattern(p) {
			c.fault(id, "%q is no path relative to the repository", p)
		}
	}
}

func (c *checker) memory(m *Memory) {
	if c.memories[m.ID] != nil {
		c.fault(m.ID, "the id is taken")
	}
	c.memories[m.ID] = m
	c.belongs(m.ID, m.Project)
	if !slices.Contains(memoryKinds, m.Kind) {
		c.fault(m.ID, "%q is no kind of memory", m.Kind)
	}
	if strings.TrimSpace(m.Content) == "" {
		c.fault(m.ID, "the content is missing")
	}
	for _, key := range m.Elements {
		if e := c.elements[key]; e == nil || e.Project != m.Project {
			c.fault(m.ID, "no element %s in its project", key)
		}
	}
	c.paths(m.ID, m.Paths)
	if m.Source != "" {
		if at := source.FindStringSubmatch(m.Source); at == nil || !slices.Contains(m.Paths, at[1]) {
			c.fault(m.ID, "source %q is not one of its paths with a line", m.Source)
		}
	}
	if p := c.projects[m.Project]; p != nil {
		switch first := p.AsOf.AddDate(0, 0, -maxAgeDays); {
		case m.Created.Before(first) || m.Confirmed.After(p.AsOf.Time):
			c.fault(m.ID, "created and confirmed must be within the %d days before %s", maxAgeDays, p.AsOf.Format("2006-01-02"))
		case m.Confirmed.Before(m.Created.Time):
			c.fault(m.ID, "confirmed before it was created")
		}
	}
	if got := script(strings.Join(m.Texts(), " ")); !matchesLanguage(got, m.Language) {
		c.fault(m.ID, "the text looks %s, which is not the language %q", got, m.Language)
	}
}

// belongs complains about an id that does not begin with a known project.
func (c *checker) belongs(id, project string) {
	if c.projects[project] == nil {
		c.fault(id, "no project %q", project)
	}
	if !idPattern.MatchString(id) || !strings.HasPrefix(id, project+"-") {
		c.fault(id, "an id is its project %q, a hyphen, and lower-case letters, digits and hyphens", project)
	}
}

func (c *checker) query(q *Query) {
	c.belongs(q.ID, q.Project)
	if q.Kind != "" && !slices.Contains(Kinds, q.Kind) {
		c.fault(q.ID, "%q is no kind of query", q.Kind)
	}
	if strings.TrimSpace(q.Text) == "" {
		c.fault(q.ID, "the text is missing")
	}
	c.paths(q.ID, q.Paths)
	known := true
	seen := map[string]bool{}
	for _, id := range append(slices.Clone(q.Answers), q.Tempting...) {
		switch m := c.memories[id]; {
		case m == nil || m.Project != q.Project:
			known = false
			c.fault(q.ID, "no memory %s in its project", id)
		case seen[id]:
			c.fault(q.ID, "%s is listed twice", id)
		}
		seen[id] = true
	}
	if (len(q.Answers) == 0) != (q.Kind == NoAnswer) {
		c.fault(q.ID, "%d answers for a query of kind %s", len(q.Answers), q.Kind)
	}
	if tempted := len(q.Tempting) > 0; tempted != (q.Kind == Rival) && q.Kind != Doubt {
		c.fault(q.ID, "%d tempting memories for a query of kind %s", len(q.Tempting), q.Kind)
	}
	got := script(q.Text)
	if !matchesLanguage(got, q.Language) {
		c.fault(q.ID, "the text looks %s, which is not the language %q", got, q.Language)
	}
	if known {
		c.claim(q, got)
	}
}

// claim complains about a query that is not of its kind.
func (c *checker) claim(q *Query, got string) {
	switch q.Kind {
	case Paraphrase:
		for _, id := range q.Answers {
			if common := c.CommonTerms(q, c.memories[id]); len(common) > 0 {
				c.fault(q.ID, "a paraphrase has terms of %s: %s", id, strings.Join(common, " "))
			}
		}
	case Path:
		if len(q.Paths) == 0 && !strings.ContainsAny(q.Text, "./") {
			c.fault(q.ID, "a query of kind path names none")
		}
	case MultiHop:
		if len(q.Answers) < 2 {
			c.fault(q.ID, "a query of several hops has %d answers", len(q.Answers))
		}
		for i := 1; i < len(q.Answers); i++ {
			if a, b := q.Answers[i-1], q.Answers[i]; !c.connected(c.memories[a], c.memories[b]) {
				c.fault(q.ID, "neither a link nor an element connects %s and %s", a, b)
			}
		}
	case CJK:
		if got == "latin" {
			c.fault(q.ID, "no Han, Kana or Hangul in the text")
		}
	case Italian:
		if q.Language != "it" {
			c.fault(q.ID, "the language is %q", q.Language)
		}
	case Doubt:
		doubted := q.Tempting
		if len(doubted) == 0 {
			doubted = q.Answers
		}
		for _, id := range doubted {
			if !c.memories[id].Disputed {
				c.fault(q.ID, "nobody disputes %s", id)
			}
		}
	case Rival:
		for _, id := range q.Tempting {
			if kind := c.memories[id].Kind; kind != "pitfall" {
				c.fault(q.ID, "%s tempts and is a %s", id, kind)
			}
		}
	default:
	}
}

// CommonTerms gives the search terms that query and memory share, as recall would: those of the memory's texts and of the
// names of its elements.
func (s *Set) CommonTerms(q *Query, m *Memory) []string {
	texts := m.Texts()
	for i := range s.Elements {
		if slices.Contains(m.Elements, s.Elements[i].Key) {
			texts = append(texts, s.Elements[i].Name)
		}
	}
	of := map[string]bool{}
	for _, text := range texts {
		for _, t := range terms.Of(text) {
			of[t] = true
		}
	}
	return slices.DeleteFunc(terms.Of(q.Text), func(t string) bool { return !of[t] })
}

// connected tells whether one memory links to the other by its title or both hang on one element.
func (c *checker) connected(a, b *Memory) bool {
	links := func(from, to *Memory) bool {
		for _, m := range link.FindAllStringSubmatch(from.Content, -1) {
			if to.Title != "" && terms.Fold(m[1]) == terms.Fold(to.Title) {
				return true
			}
		}
		return false
	}
	return links(a, b) || links(b, a) || slices.ContainsFunc(a.Elements, func(key string) bool { return slices.Contains(b.Elements, key) })
}

// script tells by its letters what a text is written in: "korean", "japanese", "chinese" or "latin".
func script(text string) string {
	var kana, hangul, han bool
	for _, r := range text {
		kana = kana || unicode.In(r, unicode.Hiragana, unicode.Katakana)
		hangul = hangul || unicode.Is(unicode.Hangul, r)
		han = han || unicode.Is(unicode.Han, r)
	}
	switch {
	case hangul:
		return "korean"
	case kana:
		return "japanese"
	case han:
		return "chinese"
	default:
		return "latin"
	}
}

// matchesLanguage tells whether a text in that script may be flagged with the language. A short Japanese text may have no
// kana.
func matchesLanguage(script, language string) bool {
	switch language {
	case "ko":
		return script == "korean"
	case "ja":
		return script == "japanese" || script == "chinese"
	case "zh":
		return script == "chinese"
	default:
		return script == "latin"
	}
}
