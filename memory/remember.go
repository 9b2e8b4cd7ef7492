package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

const (
	// minOverlap is the Jaccard of terms from which a memory is offered in similarTo when there are no vectors.
	minOverlap = 0.6
	// maxSimilar bounds similarTo.
	maxSimilar = 5
	// nearLimit bounds how many close memories are compared by the same-facts guard: restatements rank first, so a
	// guard that rejected this many already saw the likely ones.
	nearLimit = 16
	// maxRawBytes bounds a text before its private parts and secrets are taken out: four times what may be left.
	maxRawBytes = 4 * MaxContentBytes
	// maxDraws is how often a write draws anew what another took before it gives up; see handleLength.
	maxDraws = 3
	// suggestions is how many candidate elements an unattached text is offered.
	suggestions = 3
)

// Remember stores one fact, or confirms the memory it restates. docs/architecture.md tells the steps. Errors are *problem.Error; nothing is stored then.
func (s *Service) Remember(ctx context.Context, c Caller, r RememberRequest) (RememberResponse, error) {
	p, err := s.Prepare(ctx, c, r)
	if err != nil {
		return RememberResponse{}, err
	}
	d := p.draft
	var out RememberResponse
	err = s.write(ctx, c, []SpaceKey{d.space}, func(tx Tx) error {
		return once(ctx, tx, c, s.now(), VerbRemember, r, &out, func() (err error) {
			out, err = s.Place(ctx, tx, c, p)
			return err
		})
	})
	if err != nil {
		return RememberResponse{}, fmt.Errorf("remember: %w", err)
	}
	if !out.Deduplicated && d.Scope == Project && d.Imported == nil && len(out.Memory.Elements)+len(out.Memory.Paths) == 0 {
		s.warnUnattached(ctx, c, d, &out) // reads the model, which need not happen under the lock of the space
	}
	return out, nil
}

// draft is a validated, redacted memory on its way in.
type draft struct {
	RememberRequest
	space      SpaceKey
	expires    *time.Time
	unreviewed bool
	now        time.Time
	redacted   []Redaction
	warnings   []string
	vector     []float32
	model      string
	refused    bool  // the model cannot embed the text
	index      Index // without elements and files
}

// draft checks and cleans a request without looking at the database.
func (s *Service) draft(c Caller, r RememberRequest) (*draft, error) {
	d := &draft{RememberRequest: r, now: s.now(), redacted: []Redaction{}, warnings: []string{}}
	if err := d.clean(); err != nil {
		return nil, err
	}
	switch {
	case d.Kind == "":
		if r.Supersedes == "" {
			d.Kind = Note // else the kind of what it replaces
		}
	case d.Kind == SessionOutcome && c.Door != FromSession && r.Imported == nil:
		return nil, problem.Invalidf("kind", "session_outcome is written by finishing a work session only").
			Fix("use kind note, or finish the work session with a summary")
	case !slices.Contains(Kinds, d.Kind):
		return nil, problem.Invalidf("kind", "%q is not a kind of memory", clip(string(d.Kind), 40)).
			Fix("use pitfall, convention or note")
	}
	var err error
	if d.space, err = spaceFor(c, d.Scope); err != nil {
		return nil, err
	}
	d.Scope = d.space.Scope
	if d.expires, err = parseExpiry(r.Expires, d.now); err != nil {
		return nil, err
	}
	if d.Paths, err = cleanPaths(r.Paths); err != nil {
		return nil, err
	}
	if err := boundElements(r.Elements); err != nil {
		return nil, err
	}
	if err := d.Anchor.Check(); err != nil {
		return nil, err
	}
	d.unreviewed = c.Door == FromImport || c.Door == FromHook
	d.warnTemporary(c)
	return d, nil
}

// clean strips private parts, redacts secrets and checks the sizes of every free text. It is the one entrance of text.
func (d *draft) clean() error {
	for field, texts := range map[string][]string{"content": {d.Content}, "title": {d.Title}, "why": {d.Why}, "tags": d.Tags} {
		for _, t := range texts {
			if err := checkUTF8(field, t); err != nil {
				return err
			}
		}
	}
	// Looking for secrets takes time; what is far too long even without them is not looked at.
	for field, text := range map[string]string{"content": d.Content, "title": d.Title, "why": d.Why} {
		if err := checkText(field, text, maxRawBytes, "split it into one memory per fact"); err != nil {
			return err
		}
	}
	var clean cleaner
	d.Content = clean.text(d.Content)
	d.Title = strings.Join(strings.Fields(clean.text(d.Title)), " ")
	d.Why = clean.text(d.Why)
	tags := make([]string, 0, len(d.Tags))
	for _, t := range d.Tags {
		t = strings.TrimLeft(strings.Join(strings.Fields(clean.text(t)), " "), "#")
		if t != "" && !slices.ContainsFunc(tags, func(o string) bool { return terms.Fold(o) == terms.Fold(t) }) {
			tags = append(tags, t)
		}
	}
	d.Tags = tags
	d.redacted = clean.redactions()
	if clean.private > 0 {
		d.warnings = append(d.warnings, fmt.Sprintf("%d private part(s) were left out", clean.private))
	}
	switch {
	case d.Content == "" && clean.private > 0:
		return problem.Invalidf("content", "nothing is left of the text after its private parts").
			Fix("say the fact outside <private>…</private>")
	case d.Content == "":
		return problem.Invalidf("content", "the text is empty").Fix("write the fact in a sentence")
	}
	for _, t := range []struct {
		field, text string
		limit       int
		fix         string
	}{
		{"content", d.Content, MaxContentBytes, "split it into one memory per fact and link them with [[Title]]"},
		{"title", d.Title, MaxTitleBytes, "shorten it to one line; details belong in content"},
		{"why", d.Why, MaxWhyBytes, "shorten it; details belong in content"},
	} {
		if err := checkText(t.field, t.text, t.limit, t.fix); err != nil {
			return err
		}
	}
	if len(d.Tags) > MaxTags {
		return problem.Invalidf("tags", "%d tags are more than the %d allowed", len(d.Tags), MaxTags).Fix("keep the ones people would search for")
	}
	for _, t := range d.Tags {
		if err := checkText("tags", t, MaxTagBytes, "a tag is a word or two"); err != nil {
			return err
		}
	}
	return nil
}

// Check refuses an anchor that cannot be one; nil is none.
func (a *Anchor) Check() error {
	if a == nil {
		return nil
	}
	for _, part := range []string{a.Client, a.Session, a.Turn, a.Transcript} {
		if len(part) > MaxAnchorBytes || !utf8.ValidString(part) || strings.ContainsFunc(part, unicode.IsControl) {
			return problem.Invalidf("anchor", "a part of it is no name").Fix("give at most %d bytes of one line, or leave it out", MaxAnchorBytes)
		}
	}
	return nil
}

func checkUTF8(field, text string) error {
	if !utf8.ValidString(text) {
		return problem.Invalidf(field, "the text is not valid UTF-8").Fix("send it as UTF-8")
	}
	return nil
}

func checkText(field, text string, limit int, fix string) error {
	if len(text) > limit {
		return problem.Invalidf(field, "%d bytes are over the limit of %d", len(text), limit).Fix("%s", fix)
	}
	return nil
}

// spaceFor is the space a new memory of that scope goes to, if the caller may write there.
func spaceFor(c Caller, scope Scope) (SpaceKey, error) {
	switch scope {
	case "", Project:
		if c.Project == uuid.Nil {
			return SpaceKey{}, problem.Invalidf("project", "no project is chosen").
				Fix("name one, or run `stele init` in the repository")
		}
		return SpaceKey{Project, c.Project.String()}, nil
	case Personal:
		return SpaceKey{Personal, c.User}, nil
	case Organization:
		if !c.mayReviewOrganization() {
			return SpaceKey{}, problem.New(problem.Forbidden, "scope", "a memory for the whole organization needs the reviewer role in every project",
				"store it for the project and ask a reviewer to promote it")
		}
		return SpaceKey{Organization, ""}, nil
	default:
		return SpaceKey{}, problem.Invalidf("scope", "%q is not a scope", clip(string(scope), 40)).Fix("use project, personal or organization")
	}
}

// embeddingText is what a vector stands for.
func (d *draft) embeddingText() string { return embeddingText(d.Title, d.Content) }

func embeddingText(title, content string) string {
	if title == "" {
		return content
	}
	return title + "\n" + content
}

// embedForWrite gives a vector within the budget, or none: a missing vector is no error, and is made afterwards. A text that the
// model refused gets none later either. Where more write than the encoder keeps up with, most would wait for the whole budget in its
// queue: who does not get a turn soon goes on without.
func (s *Service) embedForWrite(ctx context.Context, text string) (vector []float32, model string, refused bool) {
	model = s.embedder.Model()
	if model == "" {
		return nil, "", false
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	if !s.turns.take(ctx, s.wait/turnShare) {
		return nil, model, false
	}
	defer s.turns.give()
	vs, err := s.embedder.Embed(ctx, []string{text})
	if err != nil || len(vs) != 1 {
		return nil, model, false
	}
	if !usable(vs[0]) {
		return nil, model, true
	}
	return vs[0], model, false
}

// turnShare is the part of the wait for a vector that a write waits for its turn: a tenth, so that writers who find the encoder busy are
// ten times as many as those who wait for it.
const turnShare = 10

// ownEncoder is a provider that works on the processors of this process: more texts at once only wait for each other. One on a network
// decides for itself how many it takes.
type ownEncoder interface {
	// AtOnce is how many texts it embeds at the same time.
	AtOnce() int
}

// turns are the writes that may wait for the encoder at a time; nil is any number.
type turns chan struct{}

func newTurns(p embedding.Provider) turns {
	own, ok := p.(ownEncoder)
	if !ok {
		return nil
	}
	return make(turns, max(1, own.AtOnce()))
}

// take waits for a turn, and tells whether there was one.
func (t turns) take(ctx context.Context, patience time.Duration) bool {
	if t == nil {
		return true
	}
	select {
	case t <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (t turns) give() {
	if t != nil {
		<-t
	}
}

// usable tells whether a vector has a direction: a provider may answer with zeros or with no numbers at all.
func usable(v []float32) bool {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	return sum > 0 && !math.IsInf(sum, 0) && !math.IsNaN(sum)
}

// place decides, under the lock of the space, what a draft becomes: an echo, a restatement, a successor or a new memory.
func (s *Service) place(ctx context.Context, tx Tx, c Caller, d *draft, out *RememberResponse) error {
	d.now = s.now() // within the lock, so that the order of times is the order of writes
	space := tx.Space(d.space)
	var sourceKey string
	var batch uuid.UUID
	if d.Imported != nil {
		sourceKey, batch = d.Imported.Key, d.Imported.Batch
		if known, err := tx.BySource(ctx, space.ID, sourceKey); err != nil || known != uuid.Nil {
			if err != nil {
				return err
			}
			out.Deduplicated = true
			return s.show(ctx, tx, c, known, &out.Memory)
		}
	}
	at, elements, err := s.attachments(ctx, tx, c, d.Elements, d.Paths)
	if err != nil {
		return err
	}
	var old *Record
	kind := d.Kind
	if d.Supersedes != "" {
		if old, err = s.superseded(ctx, tx, c, d, space.ID); err != nil {
			return err
		}
		if kind == "" {
			kind = old.Kind
		}
		if len(at) == 0 {
			at, elements = inherited(old, at)
		}
	}
	r := s.newRecord(c, d, kind, elements)
	if old != nil && len(d.Paths) == 0 && len(d.Elements) == 0 {
		r.Paths = old.Paths
	}
	ix := d.index.attached(r.Elements, r.Paths)

	near, err := tx.Near(ctx, s.nearQuery(space.ID, kind, ix, d))
	if err != nil {
		return err
	}
	merged, err := s.compare(ctx, tx, near, r, d, old, out)
	if err != nil {
		return err
	}
	if merged != nil {
		return s.restate(ctx, tx, c, merged, r, at, d, out)
	}
	if d.Imported == nil { // what an import brings was written before some other state
		if r.Seen, err = seenOn(ctx, tx, c, d.Seen, r.Elements, r.Paths); err != nil {
			return err
		}
	}
	if err := titleFree(ctx, tx, space.ID, r.Title, old); err != nil {
		return err
	}
	if old != nil {
		if err := s.supersede(ctx, tx, c, old, r, d.now); err != nil {
			return err
		}
	}
	if err := tx.Insert(ctx, r, at, ix, sourceKey, batch); err != nil {
		return err
	}
	if err := d.keepVector(ctx, tx, r); err != nil {
		return err
	}
	if err := noteSimilar(ctx, tx, r, d, out.SimilarTo); err != nil {
		return err
	}
	if err := tx.Audit(ctx, c, AuditEntry{At: r.CreatedAt, Verb: VerbRemember, Subject: r.ID, Revision: 1, Detail: seenDetail(d.Seen)}); err != nil {
		return err
	}
	// What was inserted is in hand; only its links have to be looked up.
	recs := []Record{*r}
	if len(ix.Links) > 0 {
		if err := s.resolveLinks(ctx, tx, c, recs); err != nil {
			return err
		}
	}
	out.Memory = recs[0].shown(d.now)
	for _, l := range out.Memory.Links {
		if l.Note != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("[[%s]] is %s", clip(l.Text, 60), l.Note))
		}
	}
	return nil
}

// keepVector stores the vector of a new memory, or that the model has none for it.
func (d *draft) keepVector(ctx context.Context, tx Tx, r *Record) error {
	switch {
	case d.vector != nil:
		return tx.SetVector(ctx, r.Space, r.Seq, d.model, d.vector)
	case d.refused:
		return tx.RefuseVector(ctx, r.ID, d.model)
	}
	return nil
}

func (s *Service) nearQuery(space int32, kind Kind, ix Index, d *draft) NearQuery {
	t := s.embedder.Thresholds()
	return NearQuery{Space: space, Kind: kind, Normal: ix.Normal, Terms: ix.Terms, Model: d.model, Vector: d.vector,
		MinCosine: t.Similar, MinOverlap: minOverlap, Limit: nearLimit}
}

func (s *Service) newRecord(c Caller, d *draft, kind Kind, elements []ElementRef) *Record {
	r := &Record{Memory: Memory{
		ID: newID(), Handle: newHandle(), Kind: kind, Title: d.Title, Content: d.Content, Why: d.Why, Scope: d.Scope, Status: Live,
		Elements: elements, Paths: d.Paths, Tags: d.Tags, Origin: c.Door, Unreviewed: d.unreviewed, CreatedAt: d.now,
		ConfirmedAt: d.now, Revision: 1, ExpiresAt: d.expires, Seen: d.Seen, Anchor: d.Anchor,
	}, ProjectID: c.Project, Agent: c.Agent, User: c.User}
	if i := d.Imported; i != nil {
		r.CreatedAt, r.ConfirmedAt, r.Agent, r.User = i.CreatedAt, i.CreatedAt, i.Agent, i.User
		if r.CreatedAt.After(d.now) { // a clock that was ahead
			r.CreatedAt, r.ConfirmedAt = d.now, d.now
		}
	}
	if d.Scope == Personal {
		r.Owner = c.User
	}
	r.Author = AuthorName(r.Agent, r.User)
	return r
}

// warnUnattached says which elements a text without element and path may be about. The memory is stored by then, so when
// the model cannot be read the advice is left out.
func (s *Service) warnUnattached(ctx context.Context, c Caller, d *draft, out *RememberResponse) {
	var known *elementWords
	err := s.view(ctx, c, func(v View) (err error) {
		known, err = s.models.wordsOf(ctx, v, c.Project)
		return err
	})
	if err != nil || len(known.keys) == 0 {
		return
	}
	names := make([]string, 0, suggestions)
	for _, i := range known.closest(d.Title+" "+d.Content, suggestions) {
		names = append(names, known.keys[i])
	}
	out.Warnings = append(out.Warnings, "stored for the whole project; to tie it to code, name an element such as "+strings.Join(names, ", "))
}
