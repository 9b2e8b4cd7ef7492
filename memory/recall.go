package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

const (
	// maxQueryBytes bounds the text of a query that is read: as much as a memory may hold. A longer one is cut, not refused,
	// since prompts are passed on as they are.
	maxQueryBytes = MaxContentBytes
	// maxQueryTerms bounds the distinct terms whose frequency is looked up, before the rarest are kept.
	maxQueryTerms = 2048
	// maxProjects bounds the further projects of one recall.
	maxProjects = 20
	// maxRecallPaths bounds the paths of one recall: a change of a hundred files asks by element instead.
	maxRecallPaths = 100
)

// recallView is what recall reads.
type recallView interface {
	// SearchedSpaces is Spaces for a search of them that follows in the same view.
	SearchedSpaces(ctx context.Context, keys []SpaceKey) ([]Space, error)
	// Search weighs the terms of a search and gives its best candidates.
	Search(ctx context.Context, s Search) (Found, error)
	// Traits gives the terms of memories, and their vectors of a model. What is not there is left out.
	Traits(ctx context.Context, memories []uuid.UUID, model string) (map[uuid.UUID]Traits, error)
	// Unindexed counts the live memories of the spaces, not expired at a moment, that have no vector of the model.
	Unindexed(ctx context.Context, spaces []int32, model string, at time.Time) (int, error)
	// PathPatterns gives the paths and globs of the project's files that live memories of the spaces name and whose literal
	// beginning is one of the prefixes or inside one of the folders ("" is the root).
	PathPatterns(ctx context.Context, spaces []int32, project uuid.UUID, prefixes, folders []string) ([]PathPattern, error)
	// Linking gives for each set of names the live memories of the spaces whose text links to one of them, newest confirmed
	// first, at most limit.
	Linking(ctx context.Context, spaces []int32, names [][]string, limit int) ([][]uuid.UUID, error)
	// Past gives the memories of the spaces that had text at a moment as they were then, from the logs: the version, status,
	// confirmations, attachments, doubts and citations of that moment. Paths, expiry and the names of elements are today's,
	// since their changes are not logged; IgnoredBy is 0.
	Past(ctx context.Context, spaces []int32, at time.Time) ([]Record, error)
}

// PathPattern is a path or glob that a memory names.
type PathPattern struct {
	Memory  uuid.UUID
	Pattern string
}

// Recall finds what is known. Errors are *problem.Error; text of the query can never cause one. With AsOf it answers from
// the logs as of that instant.
func (s *Service) Recall(ctx context.Context, c Caller, r RecallRequest) (RecallResponse, error) {
	if err := c.check(); err != nil {
		return RecallResponse{}, err
	}
	if err := r.check(s.now()); err != nil {
		return RecallResponse{}, err
	}
	spaces, err := s.recallSpaces(ctx, c, r.Projects)
	if err != nil {
		return RecallResponse{}, err
	}
	q := s.readQuery(ctx, r)
	var out RecallResponse
	var served []Impression
	err = s.view(ctx, c, func(v View) error {
		a := answer{Service: s, view: v, caller: c, request: r, query: q}
		if err := a.find(ctx, spaces); err != nil {
			return err
		}
		out, served = a.out, a.served
		return nil
	})
	if err != nil {
		return RecallResponse{}, fmt.Errorf("recall: %w", err)
	}
	if r.AsOf == nil {
		if err := s.impress(ctx, c, served); err != nil {
			return RecallResponse{}, fmt.Errorf("recall: %w", err)
		}
	}
	return out, nil
}

// check fills in the defaults and refuses what has no meaning.
func (r *RecallRequest) check(now time.Time) error {
	switch {
	case r.Limit == 0:
		r.Limit = DefaultLimit
	case r.Limit < 0 || r.Limit > MaxLimit:
		return problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxLimit).Fix("leave it out for %d", DefaultLimit)
	}
	if r.MaxTokens == nil {
		tokens := DefaultMaxTokens
		r.MaxTokens = &tokens
	}
	if *r.MaxTokens < 0 || *r.MaxTokens > MaxMaxTokens {
		return problem.Invalidf("max_tokens", "%d is not between 0 and %d", *r.MaxTokens, MaxMaxTokens).Fix("0 gives the index alone")
	}
	for _, k := range r.Kinds {
		if !slices.Contains(Kinds, k) {
			return problem.Invalidf("kinds", "%q is not a kind of memory", clip(string(k), 40)).Fix("use pitfall, convention, note or session_outcome")
		}
	}
	if len(r.Projects) > maxProjects {
		return problem.Invalidf("projects", "%d projects are more than the %d of one recall", len(r.Projects), maxProjects).Fix("ask in several calls")
	}
	if len(r.Paths) > maxRecallPaths {
		return problem.Invalidf("paths", "%d paths are more than the %d of one recall", len(r.Paths), maxRecallPaths).Fix("name their folder, or the element")
	}
	if len(r.Tags) > MaxTags {
		return problem.Invalidf("tags", "%d tags are more than the %d a memory can have", len(r.Tags), MaxTags).Fix("name fewer")
	}
	paths := make([]string, 0, len(r.Paths))
	for _, p := range r.Paths {
		p, err := CleanPath("paths", p)
		if err != nil {
			return err
		}
		paths = append(paths, p)
	}
	r.Paths = paths
	switch Door(r.Door) {
	case "":
		r.Door = string(DoorRecall)
	case DoorRecall, DoorPrompt, DoorFile, DoorBriefing:
	default:
		return problem.Invalidf("door", "%q is not a door of recall", clip(r.Door, 40)).Fix("use recall, prompt, file or briefing")
	}
	if r.AsOf != nil && r.AsOf.After(now) {
		return problem.Invalidf("as_of", "%s is in the future", r.AsOf.Format(time.RFC3339)).Fix("leave it out for the present")
	}
	return nil
}

// recallSpaces are the spaces a recall may see: the caller's own, then those of further projects.
func (s *Service) recallSpaces(ctx context.Context, c Caller, projects []string) ([]SpaceKey, error) {
	keys := c.spaceKeys()
	for _, ref := range projects {
		p, err := s.FindProject(ctx, c, ref)
		if err != nil {
			if e, ok := problem.As(err); ok {
				e.Field = "projects"
			}
			return nil, err
		}
		if key := (SpaceKey{Project, p.ID.String()}); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// query is what a text asks for, before it meets the database.
type query struct {
	browse   bool
	terms    []string
	model    string
	vector   []float32
	degraded string // why meaning takes no part though a provider is configured
}

// readQuery finds the terms of a query and, best effort and bounded in time, its vector.
func (s *Service) readQuery(ctx context.Context, r RecallRequest) query {
	text := strings.TrimSpace(cutBytes(r.Query, maxQueryBytes))
	if text == "" {
		return query{browse: true}
	}
	q := query{model: s.embedder.Model()}
	q.terms, _ = terms.Limited(text, maxQueryTerms)
	if q.model == "" {
		return q
	}
	if s.promptsByWords && Door(r.Door) == DoorPrompt {
		q.model = "" // nobody chose to send this text out
		return q
	}
	if r.AsOf != nil {
		// Vectors are kept of current texts only.
		q.model, q.degraded = "", noVectors
		return q
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	vector, err := s.embedQuery(ctx, text)
	switch {
	case err != nil:
		q.degraded = noVectors
	case vector == nil:
		q.degraded = gatedLanguage
	default:
		q.vector = vector
	}
	return q
}

// queryEmbedder is a provider whose model is better asked otherwise than it is told.
type queryEmbedder interface {
	// EmbedQuery gives the vector to look for a question with; nil as for Embed.
	EmbedQuery(ctx context.Context, text string) (embedding.Vector, error)
}

// embedQuery gives the vector of a question.
func (s *Service) embedQuery(ctx context.Context, text string) (embedding.Vector, error) {
	if p, ok := s.embedder.(queryEmbedder); ok {
		return p.EmbedQuery(ctx, text)
	}
	vectors, err := s.embedder.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 {
		return nil, fmt.Errorf("%d vectors for one text", len(vectors))
	}
	return vectors[0], nil
}

// Reasons of Degraded.
const (
	noVectors     = "no vectors"
	gatedLanguage = "language"
	notIndexedYet = "not indexed yet"
)

func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// answer is one recall under way within a transaction.
type answer struct {
	*Service
	view    View
	caller  Caller
	request RecallRequest
	query   query

	spaces []int32
	search Search
	out    RecallResponse
	served []Impression
}

// find ranks, loads and cuts to the budget.
func (a *answer) find(ctx context.Context, keys []SpaceKey) error {
	a.out = RecallResponse{Results: []Result{}, Index: []IndexEntry{}}
	look := a.view.SearchedSpaces
	if a.request.AsOf != nil {
		look = a.view.Spaces // what was is read from the logs
	}
	spaces, err := look(ctx, keys)
	if err != nil {
		return err
	}
	a.spaces = orderedSpaceIDs(spaces, keys)
	a.search = Search{
		Spaces: a.spaces, Browse: a.query.browse, Terms: a.query.terms, Model: a.query.model, Vector: a.query.vector, ModelFloor: a.embedder.Thresholds().Floor,
		Ranking: a.ranking, At: a.at(), Expired: a.request.IncludeExpired, Limit: a.request.Limit,
	}
	if a.request.Continuing {
		a.search.Ranking = a.ranking.continuing()
	}
	if err := a.narrow(ctx); err != nil {
		return err
	}
	var records []Record
	var best []ranked
	if a.request.AsOf != nil {
		best, records, err = a.past(ctx)
	} else {
		best, records, err = a.present(ctx)
	}
	if err != nil {
		return err
	}
	if err := a.fill(ctx, best, records); err != nil {
		return err
	}
	if err := a.degraded(ctx); err != nil {
		return err
	}
	if len(a.out.Results)+len(a.out.Index) == 0 {
		a.out.Empty = a.emptiness()
	}
	return nil
}

// at is the moment the recall is about.
func (a *answer) at() time.Time {
	if a.request.AsOf != nil {
		return a.request.AsOf.UTC()
	}
	return a.now()
}

// present ranks what is live now.
func (a *answer) present(ctx context.Context) ([]ranked, []Record, error) {
	search := a.search
	if search.ByVector() {
		search.Limit = max(search.Limit, feedbackDepth)
	}
	found, err := a.view.Search(ctx, search)
	if err != nil {
		return nil, nil, fmt.Errorf("search: %w", err)
	}
	a.search.Words, a.search.Best, a.out.Approximate = found.Words, found.Best, found.Approximate
	best := a.search.rank(found.Candidates)
	if best, err = a.feedback(ctx, best[:min(len(best), search.Limit)]); err != nil {
		return nil, nil, err
	}
	best = best[:min(len(best), a.search.Limit)]
	ids := make([]uuid.UUID, len(best))
	for i, b := range best {
		ids[i] = b.ID
	}
	records, err := a.view.Records(ctx, ids)
	return best, records, err
}

// narrow turns the arguments that name elements, paths and tags into conditions.
func (a *answer) narrow(ctx context.Context) error {
	n := &a.search.Narrow
	n.Kinds = a.request.Kinds
	for _, t := range a.request.Tags {
		if f := terms.Fold(strings.TrimLeft(strings.TrimSpace(t), "#")); f != "" && !slices.Contains(n.Tags, f) {
			n.Tags = append(n.Tags, f)
		}
	}
	if strings.TrimSpace(a.request.Element) != "" {
		e, err := element(ctx, a.view, a.caller, "element", a.request.Element)
		if err != nil {
			return err
		}
		all, err := a.view.Elements(ctx, a.caller.Project, false)
		if err != nil {
			return err
		}
		n.ByElement, n.Elements = true, family(all, e.ID)
	}
	if len(a.request.Within) > 0 {
		n.ByElement, n.Elements = true, a.request.Within
	}
	if len(a.request.Paths) > 0 {
		owners, memories, err := about(ctx, a.view, a.caller.Project, a.spaces, a.request.Paths)
		if err != nil {
			return err
		}
		n.ByPath, n.PathMemories = true, make([]uuid.UUID, 0, len(memories))
		for _, m := range memories {
			n.PathMemories = append(n.PathMemories, m.Memory)
		}
		n.PathElements = make([]uuid.UUID, 0, len(owners))
		for _, o := range owners {
			n.PathElements = append(n.PathElements, o.Element.ID)
		}
	}
	return nil
}

// about finds the elements whose bindings own the paths, and the memories that name paths or globs which cover them. A
// path that is a folder glob also finds memories that name something inside it.
func about(ctx context.Context, v View, project uuid.UUID, spaces []int32, paths []string) ([]owned, []PathPattern, error) {
	owners, err := ownersOf(ctx, v, project, paths)
	if err != nil {
		return nil, nil, err
	}
	var prefixes, folders []string
	for _, p := range paths {
		for dir := c4model.StaticPrefix(p); dir != ""; dir = parentFolder(dir) {
			prefixes = append(prefixes, dir)
		}
		if isGlob(p) {
			folders = append(folders, c4model.StaticPrefix(p))
		}
	}
	slices.Sort(prefixes)
	prefixes = append(slices.Compact(prefixes), "") // a glob may begin with its wildcard
	patterns, err := v.PathPatterns(ctx, spaces, project, prefixes, folders)
	if err != nil {
		return nil, nil, err
	}
	matched := slices.DeleteFunc(patterns, func(m PathPattern) bool {
		return !slices.ContainsFunc(paths, func(p string) bool { return speaksOf(m.Pattern, p) })
	})
	return owners, matched, nil
}

func parentFolder(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

func isGlob(path string) bool { return strings.ContainsAny(path, "*?[{") }

// speaksOf tells whether a memory that names pattern speaks of a path: it names it, a folder above it or a glob that
// covers it. A glob that is asked for finds what is named inside it.
func speaksOf(pattern, path string) bool {
	anchored := pattern
	if !isGlob(pattern) {
		anchored = "/" + pattern // a memory's path starts at the root; only a glob without a slash means any folder
	}
	return pattern == path || c4model.Matches(anchored, path) || isGlob(path) && c4model.Matches(path, pattern)
}

// degraded says why the answer may miss something; with no provider configured nothing is missing.
func (a *answer) degraded(ctx context.Context) error {
	switch {
	case a.query.browse:
	case a.query.degraded != "":
		a.out.Degraded = &Degraded{Reason: a.query.degraded}
	case a.search.ByVector():
		n, err := a.view.Unindexed(ctx, a.spaces, a.search.Model, a.search.At)
		if err != nil {
			return err
		}
		if n > 0 {
			a.out.Degraded = &Degraded{Reason: notIndexedYet, Unindexed: n}
		}
	}
	return nil
}

// emptiness says in words why nothing came back.
func (a *answer) emptiness() string {
	narrowed := ""
	if !a.search.Narrow.None() {
		narrowed = " within what the recall was narrowed to"
	}
	var why string
	switch {
	case a.query.browse:
		why = "nothing is remembered here yet"
		if narrowed != "" {
			why = "nothing is remembered" + narrowed
		}
	case len(a.query.terms) == 0 && !a.search.ByVector():
		why = "the query holds no word to search for"
	case len(a.search.Words.Terms) == 0 && !a.search.ByVector():
		why = "no word of the query occurs in any memory"
	default:
		why = "nothing is near enough to the query" + narrowed
	}
	if d := a.out.Degraded; d != nil {
		switch d.Reason {
		case noVectors:
			why += "; the search went by words alone, since no vector could be made in time"
		case gatedLanguage:
			why += "; the search went by words alone, since the embedding model does not know this language: a multilingual model for Ollama or a compatible endpoint would"
		case notIndexedYet:
			why += fmt.Sprintf("; %d memories are not indexed by meaning yet", d.Unindexed)
		}
	}
	return why
}
