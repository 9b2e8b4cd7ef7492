package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// ModelImport is a model that was read whole, with the bindings that belong to it.
type ModelImport struct {
	Model    *c4model.Model
	Bindings []c4model.Binding // by element key
	Source   string            // file or folder it came from, relative to the repository
	DryRun   bool              // report what would change, change nothing
}

// ModelReport says what an import changed. Elements counts by level; people are in the model but not in the count.
type ModelReport struct {
	Elements      map[c4model.Level]int `json:"elements"`
	Relationships int                   `json:"relationships"`
	Decisions     int                   `json:"decisions"`
	Bindings      int                   `json:"bindings"`
	Added         []string              `json:"added"`   // keys
	Changed       []ModelDifference     `json:"changed"` // kept, moved and restored elements
	Removed       []ModelRemoval        `json:"removed"`
	Attached      int                   `json:"attached"` // memories that found their element through a path
	Warnings      []string              `json:"warnings"`
}

// ModelDifference is one element that changed, in words.
type ModelDifference struct {
	Key  string   `json:"key"`
	From string   `json:"from,omitempty"` // former key
	What []string `json:"what"`
}

// ModelRemoval is an element that left the model; its memories are kept, orphaned.
type ModelRemoval struct {
	Key      string   `json:"key"`
	Memories int      `json:"memories"` // live ones attached to it
	Reattach []string `json:"reattach"` // "shop.gate (same name)"
}

// ModelView is a project's model as doors show it.
type ModelView struct {
	Elements      []c4model.Element      `json:"elements"`
	Relationships []c4model.Relationship `json:"relationships"`
	Bindings      []c4model.Binding      `json:"bindings"`
	Decisions     []c4model.Decision     `json:"decisions"`
	ImportedAt    *time.Time             `json:"imported_at"`
	Source        string                 `json:"source"`
}

// Model is the model in it, as a comparison with code takes it.
func (v ModelView) Model() *c4model.Model {
	return &c4model.Model{Elements: v.Elements, Relationships: v.Relationships, Decisions: v.Decisions}
}

// DecisionReport says what an import of decisions changed, by "ADR-17".
type DecisionReport struct {
	Decisions int      `json:"decisions"`
	Added     []string `json:"added"`
	Changed   []string `json:"changed"`
	Removed   []string `json:"removed"`
	Warnings  []string `json:"warnings"`
}

// LastImport is the newest import of a project's model; zero without one.
type LastImport struct {
	At     time.Time
	Source string
	Digest []byte
}

// errSpaces says that a memory to be changed lies in a space the transaction did not take; its text names nobody.
var errSpaces = errors.New("a memory lies in a space that was not taken")

// maxImportRounds bounds how often an import starts over because memories appeared in further spaces meanwhile.
const maxImportRounds = 5

// ImportModel makes the model of the caller's project equal to the given one, in one transaction: elements keep their
// identity (c4model.Reconcile), memories their attachments; renamed elements are found by their new names, and memories
// that name a path are attached to the element that now owns it. An element that left becomes a tombstone.
func (s *Service) ImportModel(ctx context.Context, c Caller, im ModelImport) (ModelReport, error) {
	if c.Project == uuid.Nil {
		return ModelReport{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	if err := c.check(); err != nil {
		return ModelReport{}, err
	}
	if !im.DryRun && !c.mayReview() {
		return ModelReport{}, problem.New(problem.Forbidden, "", "changing the model of a project needs the reviewer role", "check it without importing, or use a token of role reviewer")
	}
	if err := im.Model.Check(); err != nil {
		return ModelReport{}, err
	}
	if len(im.Model.Elements) == 0 {
		return ModelReport{}, problem.Invalidf("model", "the model has no element").Fix("check that %s is the file that declares the model", cmp.Or(im.Source, "it"))
	}
	if err := checkBindings(im.Bindings); err != nil {
		return ModelReport{}, err
	}
	digest, err := im.digest()
	if err != nil {
		return ModelReport{}, err
	}
	var report ModelReport
	if im.DryRun {
		err = s.view(ctx, c, func(v View) error {
			_, report, err = s.planModel(ctx, v, c, im)
			return err
		})
		return report, wrap("check model", err)
	}
	err = writeFollowing(ctx, s, c, VerbImportModel, im, &report, func(tx Tx) (needed []SpaceKey, err error) {
		report, needed, err = s.importModel(ctx, tx, c, im, digest)
		return needed, err
	})
	if err == nil {
		s.embedElements(ctx, c.Org, c.Project, importWait)
	}
	return report, wrap("import model", err)
}

// importModel is ImportModel in the transaction that holds the project, and gives the spaces it would need as well.
func (s *Service) importModel(ctx context.Context, tx Tx, c Caller, im ModelImport, digest []byte) (report ModelReport, needed []SpaceKey, err error) {
	last, err := tx.LastImport(ctx, c.Project)
	if err != nil {
		return report, nil, err
	}
	change, report, err := s.planModel(ctx, tx, c, im)
	if err != nil {
		return report, nil, err
	}
	change.At, change.Source, change.Digest, change.Actor = s.now(), im.Source, digest, AuthorName(c.Agent, c.User)
	if slices.Equal(last.Digest, digest) && len(report.Added)+len(report.Changed)+len(report.Removed) == 0 {
		return report, nil, nil // what is stored came from the very same model and bindings
	}
	if err := tx.SaveModel(ctx, c.Project, change); err != nil {
		return report, nil, err
	}
	if err := tx.SaveDecisions(ctx, c.Project, modelSource, im.Model.Decisions); err != nil {
		return report, nil, err
	}
	if err := tx.Audit(ctx, c, AuditEntry{At: change.At, Verb: VerbImportModel, Subject: c.Project}); err != nil {
		return report, nil, err
	}
	report.Attached, needed, err = s.followModel(ctx, tx, c, change)
	return report, needed, err
}

// maxBindings bounds the bindings of a model: every path of every memory is compared with all of them.
const maxBindings = 20_000

// checkBindings refuses globs that cannot be matched in bounded time.
func checkBindings(bindings []c4model.Binding) error {
	if len(bindings) > maxBindings {
		return problem.Invalidf("bindings", "%d bindings are more than the %d of a model", len(bindings), maxBindings).Fix("bind folders rather than files")
	}
	for _, b := range bindings {
		if strings.TrimSpace(b.Pattern) == "" || len(b.Pattern) > MaxPathBytes || !c4model.ValidPattern(b.Pattern) {
			return problem.Invalidf("bindings", "%q of %s is not a glob that can be matched", clip(b.Pattern, 80), clip(b.Element, 80)).
				Fix("write it like api/**, in at most %d bytes and with few alternatives", MaxPathBytes)
		}
	}
	return nil
}

// modelSource marks decisions that came with the model, so that an import of a folder does not replace them.
const modelSource = "model"

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (im ModelImport) digest() ([]byte, error) {
	encoded, err := json.Marshal(struct {
		Model    *c4model.Model    `json:"model"`
		Bindings []c4model.Binding `json:"bindings"`
	}{im.Model, im.Bindings})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(encoded)
	return sum[:], nil
}

// planModel compares the model with the stored one, and says what has to be stored.
func (s *Service) planModel(ctx context.Context, v View, c Caller, im ModelImport) (ModelChange, ModelReport, error) {
	report := ModelReport{Elements: map[c4model.Level]int{c4model.System: 0, c4model.Container: 0, c4model.Component: 0, c4model.Code: 0},
		Added: []string{}, Changed: []ModelDifference{}, Removed: []ModelRemoval{}, Warnings: []string{},
		Relationships: len(im.Model.Relationships), Decisions: len(im.Model.Decisions), Bindings: len(im.Bindings)}
	change := ModelChange{Aliases: map[string]uuid.UUID{}, Counts: map[string]int{}}
	known, err := knownElements(ctx, v, c.Project)
	if err != nil {
		return change, report, err
	}
	plan := c4model.Reconcile(known, *im.Model)
	keys := c.spaceKeys() // what others keep to themselves is not counted
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return change, report, err
	}
	visible := allSpaceIDs(spaces, keys)
	ids := map[string]uuid.UUID{}
	for _, e := range plan.Added {
		ids[e.Key] = newID()
		report.Added = append(report.Added, e.Key)
	}
	for _, x := range plan.Changed {
		ids[x.New.Key] = x.ID
		report.Changed = append(report.Changed, ModelDifference{Key: x.New.Key, What: x.What})
		change.noteName(x.ID, x.Old, x.New)
	}
	for _, x := range plan.Moved {
		ids[x.New.Key] = x.ID
		report.Changed = append(report.Changed, ModelDifference{Key: x.To, From: x.From, What: append([]string{"recognised by " + x.Because}, x.What...)})
		change.noteName(x.ID, x.Old, x.New)
	}
	for _, x := range plan.Unchanged {
		ids[x.Element.Key] = x.ID
	}
	for _, x := range plan.Removed {
		change.Removed = append(change.Removed, x.ID)
		n, err := v.CountAttached(ctx, visible, x.ID)
		if err != nil {
			return change, report, err
		}
		rem := ModelRemoval{Key: x.Element.Key, Memories: n, Reattach: []string{}}
		for _, sg := range x.Reattach {
			rem.Reattach = append(rem.Reattach, sg.Key+" ("+sg.Reason+")")
		}
		report.Removed = append(report.Removed, rem)
		if n > 0 {
			w := fmt.Sprintf("%s left the model with %d memories on it", x.Element.Key, n)
			if len(rem.Reattach) > 0 {
				w += "; reattach them to " + rem.Reattach[0]
			}
			report.Warnings = append(report.Warnings, w)
		}
	}
	slices.SortFunc(report.Changed, func(a, b ModelDifference) int { return strings.Compare(a.Key, b.Key) })
	for _, a := range plan.Aliases {
		change.Aliases[c4model.FoldKey(a.Key)] = a.ID
	}
	for i, e := range im.Model.Elements {
		change.Elements = append(change.Elements, Element{Element: e, ID: ids[e.Key], ProjectID: c.Project, ParentID: ids[e.Parent],
			InScope: e.InScope(), Ordinal: i})
		if e.Level != c4model.Person {
			report.Elements[e.Level]++
			change.Counts[string(e.Level)]++
		}
	}
	for _, r := range im.Model.Relationships {
		change.Relationships = append(change.Relationships, StoredRelationship{Relationship: r, SourceID: ids[r.Source], DestinationID: ids[r.Destination]})
	}
	for _, b := range im.Bindings {
		if b.Source == ServerBinding {
			continue // read from here, not from the repository; it is kept
		}
		id, ok := ids[b.Element]
		if !ok {
			report.Warnings = append(report.Warnings, fmt.Sprintf("binding %q names no element of the model", b.Element))
			continue
		}
		change.Bindings = append(change.Bindings, ElementBinding{Binding: b, ElementID: id})
	}
	for _, w := range im.Model.Warnings {
		report.Warnings = append(report.Warnings, w.Position.String()+w.Message)
	}
	return change, report, nil
}

// noteName remembers elements whose new name their memories must be found by.
func (c *ModelChange) noteName(id uuid.UUID, before, after c4model.Element) {
	if before.Name != after.Name {
		c.Renamed = append(c.Renamed, id)
	}
}

func knownElements(ctx context.Context, v View, project uuid.UUID) ([]c4model.Known, error) {
	elements, err := v.Elements(ctx, project, true)
	if err != nil {
		return nil, err
	}
	aliases, err := v.Aliases(ctx, project)
	if err != nil {
		return nil, err
	}
	former := map[uuid.UUID][]string{}
	for key, id := range aliases {
		former[id] = append(former[id], key)
	}
	known := make([]c4model.Known, len(elements))
	for i, e := range elements {
		slices.Sort(former[e.ID])
		known[i] = c4model.Known{ID: e.ID, Element: e.Element, Aliases: former[e.ID], Removed: e.RemovedAt != nil}
	}
	return known, nil
}

// newOwners are the elements that own a path of the memory now and never did before: an attachment that was there and is
// not now was taken away by a person.
func (m PathMemory) newOwners(patterns []string, bindings []ElementBinding) []Attachment {
	var at []Attachment
	for _, p := range m.Paths {
		for _, i := range c4model.Owners(patterns, p) {
			id := bindings[i].ElementID
			if !slices.Contains(m.Ever, id) && !slices.ContainsFunc(at, func(a Attachment) bool { return a.Element == id }) {
				at = append(at, Attachment{Element: id, Reason: attachedByPath, Path: p})
			}
		}
	}
	return at
}

// followModel brings the memories up to a changed model: those that name a path get the element that now owns it, and
// those on renamed elements are found by the new name. It gives the spaces it would need when it lacks some.
func (s *Service) followModel(ctx context.Context, tx Tx, c Caller, change ModelChange) (attached int, needed []SpaceKey, err error) {
	reindex, err := tx.AttachedTo(ctx, change.Renamed)
	if err != nil {
		return 0, nil, err
	}
	byPath, err := tx.PathsOf(ctx, c.Project)
	if err != nil {
		return 0, nil, err
	}
	bindings, err := tx.Bindings(ctx, c.Project)
	if err != nil {
		return 0, nil, err
	}
	patterns := globs(bindings)
	var trail []AuditEntry
	found := map[uuid.UUID]bool{}
	for _, m := range byPath {
		at := m.newOwners(patterns, bindings)
		if len(at) == 0 {
			continue
		}
		if err := tx.Attach(ctx, m.ID, at, change.At); err != nil {
			return 0, nil, err
		}
		found[m.ID] = true
		if !slices.Contains(reindex, m.ID) {
			reindex = append(reindex, m.ID)
		}
	}
	for chunk := range slices.Chunk(reindex, 500) { // bounds what is decrypted at once
		recs, err := tx.Records(ctx, chunk)
		if err != nil {
			return 0, nil, err
		}
		for i := range recs {
			if !tx.Holds(recs[i].Space) {
				if key := recs[i].spaceKey(); !slices.Contains(needed, key) {
					needed = append(needed, key)
				}
				continue
			}
			if !recs[i].Unreadable() { // it stays in the index as it entered
				if err := tx.Reindex(ctx, &recs[i], IndexOf(&recs[i].Memory)); err != nil {
					return 0, nil, err
				}
			}
			if !found[recs[i].ID] {
				continue
			}
			trail = append(trail, AuditEntry{At: change.At, Verb: VerbAttach, Subject: recs[i].ID, Space: recs[i].Space})
			if c.sees(&recs[i]) {
				attached++
			}
		}
	}
	if len(needed) > 0 {
		return 0, needed, errSpaces
	}
	return attached, nil, tx.Audit(ctx, c, trail...)
}

// Model gives the project's model.
func (s *Service) Model(ctx context.Context, c Caller) (ModelView, error) {
	out := ModelView{}
	err := s.viewRuns(ctx, c, func(v View) error {
		out = ModelView{Elements: []c4model.Element{}, Relationships: []c4model.Relationship{}, Bindings: []c4model.Binding{}, Decisions: []c4model.Decision{}}
		elements, err := v.Elements(ctx, c.Project, false)
		if err != nil {
			return err
		}
		for _, e := range elements {
			out.Elements = append(out.Elements, e.Element)
		}
		bindings, err := v.Bindings(ctx, c.Project)
		if err != nil {
			return err
		}
		for _, b := range bindings {
			out.Bindings = append(out.Bindings, b.Binding)
		}
		relationships, err := v.Relationships(ctx, c.Project)
		if err != nil {
			return err
		}
		out.Relationships = append(out.Relationships, relationships...)
		if c.Role != RoleCI { // a run needs to know what it compares, and nothing that people wrote about it
			decisions, err := v.Decisions(ctx, c.Project)
			if err != nil {
				return err
			}
			out.Decisions = append(out.Decisions, decisions...)
		}
		last, err := v.LastImport(ctx, c.Project)
		if err == nil && !last.At.IsZero() {
			out.ImportedAt, out.Source = &last.At, last.Source
		}
		return err
	})
	return out, wrap("model", err)
}

// ImportDecisions makes the decisions that came from one source equal to the given ones.
func (s *Service) ImportDecisions(ctx context.Context, c Caller, decisions []c4model.Decision, source string) (DecisionReport, error) {
	out := DecisionReport{}
	if c.Project == uuid.Nil {
		return out, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	if err := c.check(); err != nil {
		return out, err
	}
	if !c.mayReview() {
		return out, problem.New(problem.Forbidden, "", "importing decisions needs the reviewer role", "use a token of role reviewer")
	}
	err := s.write(ctx, c, []SpaceKey{{Project, c.Project.String()}}, func(tx Tx) error {
		out = DecisionReport{Decisions: len(decisions), Added: []string{}, Changed: []string{}, Removed: []string{}, Warnings: []string{}}
		asked := struct {
			Decisions []c4model.Decision
			Source    string
		}{decisions, source}
		return once(ctx, tx, c, s.now(), VerbImportDecisions, asked, &out, func() error {
			before, err := tx.Decisions(ctx, c.Project)
			if err != nil {
				return err
			}
			if err := tx.SaveDecisions(ctx, c.Project, source, decisions); err != nil {
				return err
			}
			after, err := tx.Decisions(ctx, c.Project)
			if err != nil {
				return err
			}
			out.compare(before, after)
			return tx.Audit(ctx, c, AuditEntry{At: s.now(), Verb: VerbImportDecisions, Subject: c.Project})
		})
	})
	return out, wrap("import decisions", err)
}

func (r *DecisionReport) compare(before, after []c4model.Decision) {
	old := map[string]c4model.Decision{}
	for _, d := range before {
		old[d.ID] = d
	}
	for _, d := range after {
		switch o, ok := old[d.ID]; {
		case !ok:
			r.Added = append(r.Added, "ADR-"+d.ID)
		case o != d:
			r.Changed = append(r.Changed, "ADR-"+d.ID)
		}
		delete(old, d.ID)
	}
	for _, d := range before {
		if _, ok := old[d.ID]; ok {
			r.Removed = append(r.Removed, "ADR-"+d.ID)
		}
	}
}
