package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory/terms"
)

// VerbImport is in the trail beside what an import restored of our own export: how the memory stood from then on.
const VerbImport Verb = "import"

// reasonByPath begins the reason of an attachment by path, as memories show it.
const reasonByPath = "by "

// importTx is what an import asks and stores, for many records at once.
type importTx interface {
	// ImportedAs tells which memories records of these keys became, in some spaces or, with none, in any of the organization.
	ImportedAs(ctx context.Context, keys []string, spaces ...int32) ([]ImportedAs, error)
	// SameTexts gives the live memories of a space with one of the normalised texts, oldest first.
	SameTexts(ctx context.Context, space int32, normals []string) ([]uuid.UUID, error)
	// TitlesTaken gives those of the folded titles that live memories of a space bear, with their handles.
	TitlesTaken(ctx context.Context, space int32, folded []string) (map[string]string, error)
	// Holders gives the memories that have one of the ids or handles, in any space of the organization.
	Holders(ctx context.Context, ids []uuid.UUID, handles []string) ([]Holder, error)
	// InsertAll stores memories of any status; it fills Record.Seq. by is who imports them.
	InsertAll(ctx context.Context, by Caller, all []Insertion) error
	// SetConfirmed says when a memory was last confirmed, and how often.
	SetConfirmed(ctx context.Context, memory uuid.UUID, at time.Time, confirmations int) error
	// KeepKeys keeps that records of these keys were merged into memories of a space.
	KeepKeys(ctx context.Context, space int32, merged map[string]uuid.UUID) error
	// AddFormerElements adds elements to a project as ones that left its model. An import of a model that has their keys takes them back.
	AddFormerElements(ctx context.Context, project uuid.UUID, elements []Element, now time.Time) error
}

// ImportedAs is what a record became.
type ImportedAs struct {
	Key    string
	Space  int32
	Memory uuid.UUID
	Handle string
}

// Holder is a memory that has an id and a handle.
type Holder struct {
	ID     uuid.UUID
	Handle string
	Space  int32
}

// Insertion is a memory to store with everything that belongs to it.
type Insertion struct {
	Record   *Record // with status, counts and Successor
	At       []Attachment
	Index    Index
	Key      string
	Batch    uuid.UUID
	Versions []StoredVersion // all revisions; none = the record is the only one
	Audit    []AuditEntry
}

// StoredVersion is the text of one revision as an import brings it.
type StoredVersion struct {
	Revision            int
	At                  time.Time
	Agent, User         string
	Title, Content, Why string
	Tags                []string
	Gone                bool // its text is destroyed
}

// importing is an import within its transaction.
type importing struct {
	*Service
	tx    Tx
	c     Caller
	batch uuid.UUID
	dry   bool
	now   time.Time

	owners    *c4model.Ownership
	bindings  []ElementBinding
	elements  map[uuid.UUID]Element
	byName    map[string][]uuid.UUID // folded keys, former keys and names, the surer first
	former    []Element              // to be added
	pathOwner map[string][]uuid.UUID

	known     map[string][]ImportedAs
	succeeded map[string]uuid.UUID // memories that successors became, by their keys
	ids       map[uuid.UUID]Holder
	handles   map[string]bool
	existing  map[sameKey][]*Record // live memories with the text of a record, and those of this import
	pending   map[uuid.UUID]*Insertion
	changed   map[uuid.UUID]*Record // of existing, with what they lacked
	titles    map[int32]map[string]string
	byExport  map[uuid.UUID]uuid.UUID // id in the export → id here
	keep      map[int32]map[string]uuid.UUID
	inserts   []*Insertion
	missing   map[uuid.UUID][]Attachment
	doubts    []Doubt
	refresh   []refreshed
	found     map[string]int
}

// refreshed is a memory that is there, with the confirmations that it has elsewhere.
type refreshed struct {
	id            uuid.UUID
	at            time.Time
	confirmations int
}

type sameKey struct {
	space  int32
	kind   Kind
	normal string
}

func newImporting(s *Service, tx Tx, c Caller, batch uuid.UUID, dry bool) *importing {
	return &importing{Service: s, tx: tx, c: c, batch: batch, dry: dry, now: s.now(),
		pathOwner: map[string][]uuid.UUID{}, known: map[string][]ImportedAs{}, succeeded: map[string]uuid.UUID{}, ids: map[uuid.UUID]Holder{}, handles: map[string]bool{},
		existing: map[sameKey][]*Record{}, pending: map[uuid.UUID]*Insertion{}, changed: map[uuid.UUID]*Record{}, titles: map[int32]map[string]string{},
		byExport: map[uuid.UUID]uuid.UUID{}, keep: map[int32]map[string]uuid.UUID{}, missing: map[uuid.UUID][]Attachment{}, found: map[string]int{}}
}

// run places all records and stores what came of it.
func (m *importing) run(ctx context.Context, all []*arriving, out *ImportResponse) error {
	if err := m.readModel(ctx); err != nil {
		return err
	}
	if err := m.readKnown(ctx, all); err != nil {
		return err
	}
	for _, a := range all {
		if err := m.place(a); err != nil {
			return err
		}
		if a.outcome.Result == ImportTaken || a.outcome.Result == ImportMerged {
			for _, r := range a.draft.redacted {
				m.found[r.Kind] += r.Count
			}
		}
	}
	m.succeed(all)
	out.Redacted = (&cleaner{found: m.found}).redactions()
	if m.dry {
		for i := range out.Records {
			if out.Records[i].Result == ImportTaken || m.isPending(out.Records[i].Handle) {
				out.Records[i].Handle = ""
			}
		}
		return nil
	}
	return m.store(ctx)
}

func (m *importing) isPending(handle string) bool {
	return slices.ContainsFunc(m.inserts, func(i *Insertion) bool { return i.Record.Handle == handle })
}

// readModel reads the elements that records may name, once.
func (m *importing) readModel(ctx context.Context) error {
	m.elements, m.byName = map[uuid.UUID]Element{}, map[string][]uuid.UUID{}
	if m.c.Project == uuid.Nil {
		return nil
	}
	elements, err := m.tx.Elements(ctx, m.c.Project, true)
	if err != nil {
		return err
	}
	aliases, err := m.tx.Aliases(ctx, m.c.Project)
	if err != nil {
		return err
	}
	if m.bindings, err = m.tx.Bindings(ctx, m.c.Project); err != nil {
		return err
	}
	m.owners = c4model.NewOwnership(globs(m.bindings))
	for _, e := range elements {
		m.elements[e.ID] = e
		if e.RemovedAt == nil {
			m.byName["key "+c4model.FoldKey(e.Key)] = []uuid.UUID{e.ID}
			m.byName["name "+c4model.FoldName(e.Name)] = append(m.byName["name "+c4model.FoldName(e.Name)], e.ID)
		}
	}
	for _, e := range elements {
		if key := "key " + c4model.FoldKey(e.Key); e.RemovedAt != nil && m.byName[key] == nil {
			m.byName["left "+c4model.FoldKey(e.Key)] = []uuid.UUID{e.ID}
		}
	}
	for key, id := range aliases {
		m.byName["alias "+c4model.FoldKey(key)] = []uuid.UUID{id}
	}
	return nil
}

// readKnown asks what is there of all records at once.
func (m *importing) readKnown(ctx context.Context, all []*arriving) error {
	var keys, successors, handles []string
	var ids []uuid.UUID
	var spaces []int32
	normals, titles := map[int32][]string{}, map[int32][]string{}
	for _, a := range all {
		space := m.tx.Space(a.draft.space).ID
		if !slices.Contains(spaces, space) {
			spaces = append(spaces, space)
		}
		keys = append(keys, a.draft.Imported.Key)
		if r := a.restore; r != nil {
			keys = append(keys, RestoreKey(r.ID))
			ids, handles = append(ids, r.ID), append(handles, r.Handle)
			if r.Successor != uuid.Nil {
				ids, successors = append(ids, r.Successor), append(successors, RestoreKey(r.Successor))
			}
		} else {
			normals[space] = append(normals[space], a.draft.index.Normal)
		}
		if a.draft.index.Title != "" {
			titles[space] = append(titles[space], a.draft.index.Title)
		}
	}
	known, err := m.tx.ImportedAs(ctx, keys, spaces...)
	if err != nil {
		return err
	}
	for _, k := range known {
		m.known[k.Key] = append(m.known[k.Key], k)
	}
	if known, err = m.tx.ImportedAs(ctx, successors); err != nil {
		return err
	}
	for _, k := range known {
		m.succeeded[k.Key] = k.Memory
	}
	holders, err := m.tx.Holders(ctx, ids, handles)
	if err != nil {
		return err
	}
	for _, h := range holders {
		m.ids[h.ID], m.handles[h.Handle] = h, true
	}
	for space, texts := range titles {
		if m.titles[space], err = m.tx.TitlesTaken(ctx, space, texts); err != nil {
			return err
		}
	}
	for space, texts := range normals {
		same, err := m.tx.SameTexts(ctx, space, texts)
		if err != nil {
			return err
		}
		recs, err := m.tx.Records(ctx, same)
		if err != nil {
			return err
		}
		for i := range recs {
			if r := &recs[i]; !r.Unreadable() {
				key := sameKey{space, r.Kind, terms.Normalise(r.Content)}
				m.existing[key] = append(m.existing[key], r)
			}
		}
	}
	return nil
}

// RestoreKey is the key of a memory of our own export.
func RestoreKey(id uuid.UUID) string { return "stele:" + id.String() }

// place decides what becomes of one record.
func (m *importing) place(a *arriving) error {
	d, space := a.draft, m.tx.Space(a.draft.space).ID
	if h, ok := m.there(a, space); ok {
		a.outcome.Result, a.outcome.Handle = ImportKnown, h.Handle
		if a.restore != nil {
			m.byExport[a.restore.ID] = h.ID
			if a.restore.Refresh {
				m.refresh = append(m.refresh, refreshed{h.ID, a.restore.ConfirmedAt, a.restore.Confirmations})
			}
		}
		return nil
	}
	d.now = m.now
	at, refs := m.attach(a)
	r := m.newRecord(m.c, d, d.Kind, refs)
	key := sameKey{space, r.Kind, d.index.Normal}
	if a.restore == nil && r.Kind != SessionOutcome {
		for _, e := range m.existing[key] {
			if same, _ := sameFacts(&e.Memory, &r.Memory); same && compatible(e.Elements, r.Elements) {
				m.merge(a, e, r, at)
				return nil
			}
		}
	}
	ins := &Insertion{Record: r, At: at, Key: d.Imported.Key, Batch: m.batch, Versions: a.versions}
	if a.restore != nil {
		m.restored(a, ins, space)
	}
	if r.Status == Live && !m.takeTitle(a, ins, space) {
		return nil
	}
	for m.handles[r.Handle] {
		r.Handle = newHandle()
	}
	m.handles[r.Handle] = true
	if ins.Index = d.index.attached(r.Elements, r.Paths); r.Title != d.Title { // it is in the text now
		ins.Index = IndexOf(&r.Memory)
	}
	m.inserts, m.pending[r.ID] = append(m.inserts, ins), ins
	if a.restore != nil {
		m.byExport[a.restore.ID] = r.ID
	} else {
		m.existing[key] = append(m.existing[key], r)
	}
	a.outcome.Result, a.outcome.Handle = ImportTaken, r.Handle
	for _, e := range refs {
		a.outcome.Elements = append(a.outcome.Elements, e.Key)
	}
	return nil
}

// there finds what the record became before: by its key, or by its own id where it never left.
func (m *importing) there(a *arriving, space int32) (Holder, bool) {
	keys := []string{a.draft.Imported.Key}
	if a.restore != nil {
		keys = append(keys, RestoreKey(a.restore.ID))
	}
	for _, key := range keys {
		for _, k := range m.known[key] {
			if k.Space == space {
				return Holder{ID: k.Memory, Handle: k.Handle, Space: space}, true
			}
		}
	}
	if a.restore != nil {
		if h, ok := m.ids[a.restore.ID]; ok && h.Space == space {
			return h, true
		}
	}
	return Holder{}, false
}

// merge lets an existing memory stand for a record, and fills what it lacks.
func (m *importing) merge(a *arriving, e, r *Record, at []Attachment) {
	a.outcome.Result, a.outcome.Handle = ImportMerged, e.Handle
	fresh := slices.DeleteFunc(slices.Clone(at), func(n Attachment) bool {
		return slices.ContainsFunc(e.Elements, func(x ElementRef) bool { return x.ID == n.Element })
	})
	changed := len(fresh) > 0
	space := m.tx.Space(a.draft.space).ID
	if e.Title == "" && r.Title != "" {
		if holder := m.titles[space][a.draft.index.Title]; holder == "" {
			e.Title, changed = r.Title, true
			m.titles[space][a.draft.index.Title] = e.Handle
		} else {
			a.outcome.Notes = append(a.outcome.Notes, fmt.Sprintf("its title is that of %s", holder))
		}
	}
	if e.Why == "" && r.Why != "" {
		e.Why, changed = r.Why, true
	}
	if len(e.Tags) == 0 && len(r.Tags) > 0 {
		e.Tags, changed = r.Tags, true
	}
	if len(e.Paths) == 0 && len(r.Paths) > 0 {
		e.Paths, changed = r.Paths, true
	}
	for i := range fresh {
		if fresh[i].Reason == attachedByWriter {
			fresh[i].Reason = attachedByRestatement
		}
	}
	for _, ref := range r.Elements {
		if slices.ContainsFunc(fresh, func(n Attachment) bool { return n.Element == ref.ID }) {
			e.Elements = append(e.Elements, ref)
		}
	}
	if ins := m.pending[e.ID]; ins != nil {
		ins.At, ins.Index = append(ins.At, fresh...), IndexOf(&e.Memory)
	} else if changed {
		m.changed[e.ID], m.missing[e.ID] = e, append(m.missing[e.ID], fresh...)
	}
	if m.keep[space] == nil {
		m.keep[space] = map[string]uuid.UUID{}
	}
	m.keep[space][a.draft.Imported.Key] = e.ID
}

// restored gives a record back what the export knows of it.
func (m *importing) restored(a *arriving, ins *Insertion, space int32) {
	r, x := ins.Record, a.restore
	if _, taken := m.ids[x.ID]; !taken {
		r.ID = x.ID
	}
	if r.Handle = x.Handle; m.handles[r.Handle] {
		r.Handle = newHandle()
		a.outcome.Notes = append(a.outcome.Notes, fmt.Sprintf("the handle %s is another's; it is %s now", x.Handle, r.Handle))
	}
	r.Status, r.Origin, r.Unreviewed, r.Revision = x.Status, x.Origin, x.Unreviewed, x.Revision
	r.ConfirmedAt, r.Confirmations, r.Seen = x.ConfirmedAt, x.Confirmations, x.Seen
	for _, f := range x.Doubts {
		if cause := map[string]string{"disputed": "disputed", "verify": "drifted"}[f.Flag]; cause != "" && r.Status != Erased {
			m.doubts = append(m.doubts, Doubt{Memory: r.ID, Cause: cause, Since: m.now, Reason: f.Reason})
		}
	}
	entry := func(verb Verb, detail map[string]string) {
		ins.Audit = append(ins.Audit, AuditEntry{At: m.now, Verb: verb, Subject: r.ID, Revision: r.Revision, Space: space, Detail: detail})
	}
	entry(VerbImport, map[string]string{"confirmed_at": r.ConfirmedAt.Format(time.RFC3339Nano), "confirmations": strconv.Itoa(r.Confirmations)})
	switch r.Status {
	case Retired:
		entry(VerbRetire, nil)
	case Erased:
		entry(VerbErase, nil)
	case CandidateStatus:
		entry(VerbPropose, nil)
	case Live, Superseded:
	}
}

// takeTitle gives a live memory its title. Where another has it, an import keeps the words as the first line of the text; what is
// restored is refused, for its links would lead elsewhere.
func (m *importing) takeTitle(a *arriving, ins *Insertion, space int32) bool {
	r := ins.Record
	folded := a.draft.index.Title
	if folded == "" {
		return true
	}
	holder := m.titles[space][folded]
	switch {
	case holder == "":
		m.titles[space][folded] = r.Handle
		return true
	case a.restore != nil:
		a.outcome.Result = ImportRefused
		a.outcome.Notes = []string{fmt.Sprintf("title: %s already has the title %q; retire it, or give one of them another title", holder, clip(r.Title, 80))}
		return false
	}
	if text := r.Title + "\n\n" + r.Content; len(text) <= MaxContentBytes {
		r.Content = text
	}
	a.outcome.Notes = append(a.outcome.Notes, fmt.Sprintf("its title is that of %s, so it is the first line of the text", holder))
	r.Title = ""
	return true
}

// attach finds the elements of a record: those it names, and those that own its paths.
func (m *importing) attach(a *arriving) ([]Attachment, []ElementRef) {
	at, refs := []Attachment{}, []ElementRef{}
	add := func(id uuid.UUID, n Attachment, reason string) {
		if slices.ContainsFunc(at, func(o Attachment) bool { return o.Element == id }) || len(at) == MaxElements {
			return
		}
		ref := m.elements[id].Ref()
		ref.Reason, n.Element = reason, id
		at, refs = append(at, n), append(refs, ref)
	}
	if a.restore != nil {
		for _, e := range a.restore.Attached {
			id, ok := m.find(e.Key, false)
			if !ok {
				id = m.addFormer(e)
			}
			n := Attachment{Reason: e.Reason}
			switch path, byPath := strings.CutPrefix(e.Reason, reasonByPath); {
			case byPath:
				n.Reason, n.Path = attachedByPath, path
			case e.Reason == "":
				n.Reason = attachedByWriter
			}
			add(id, n, e.Reason)
		}
		return at, refs
	}
	for _, name := range a.draft.Elements {
		if id, ok := m.find(name, true); ok {
			add(id, Attachment{Reason: attachedByWriter}, "")
		} else if strings.TrimSpace(name) != "" {
			a.outcome.Notes = append(a.outcome.Notes, fmt.Sprintf("the model has no element %q", clip(Line(name), 80)))
		}
	}
	for _, p := range a.draft.Paths {
		for _, id := range m.ownersOf(p) {
			add(id, Attachment{Reason: attachedByPath, Path: p}, reasonByPath+p)
		}
	}
	return at, refs
}

// find finds an element by key, former key or, where it is the only one, name. Exact leaves out those that left the model.
func (m *importing) find(name string, live bool) (uuid.UUID, bool) {
	key := c4model.FoldKey(strings.TrimSpace(name))
	forms := []string{"key " + key, "alias " + key, "name " + c4model.FoldName(strings.TrimSpace(name))}
	if !live {
		forms = []string{"key " + key, "alias " + key, "left " + key}
	}
	for _, form := range forms {
		ids := m.byName[form]
		if len(ids) == 1 && (!live || m.elements[ids[0]].RemovedAt == nil) {
			return ids[0], true
		}
	}
	return uuid.Nil, false
}

// addFormer makes an element that the model does not have (yet), so that nothing of the export is lost.
func (m *importing) addFormer(ref RestoredElement) uuid.UUID {
	level := c4model.Level(ref.Level)
	if !slices.Contains([]c4model.Level{c4model.Person, c4model.System, c4model.Container, c4model.Component, c4model.Code}, level) {
		level = c4model.Component
	}
	name := ref.Name
	if name == "" {
		name = ref.Key
	}
	e := Element{Element: c4model.Element{Key: ref.Key, Name: name, Level: level}, ID: newID(), ProjectID: m.c.Project, Ordinal: maxCount, RemovedAt: &m.now}
	m.former, m.elements[e.ID] = append(m.former, e), e
	m.byName["left "+c4model.FoldKey(e.Key)] = []uuid.UUID{e.ID}
	return e.ID
}

func (m *importing) ownersOf(path string) []uuid.UUID {
	if m.owners == nil {
		return nil
	}
	ids, ok := m.pathOwner[path]
	if !ok {
		for _, i := range m.owners.Owners(path) {
			id := m.bindings[i].ElementID
			if e, there := m.elements[id]; there && e.RemovedAt == nil {
				ids = append(ids, id)
			}
		}
		m.pathOwner[path] = ids
	}
	return ids
}

// succeed leads what was superseded to its successor.
func (m *importing) succeed(all []*arriving) {
	for _, a := range all {
		if a.restore == nil || a.restore.Status != Superseded || a.outcome.Result != ImportTaken {
			continue
		}
		ins := m.pending[m.byExport[a.restore.ID]]
		r := ins.Record
		r.Successor = m.byExport[a.restore.Successor]
		if r.Successor == uuid.Nil {
			r.Successor = m.succeeded[RestoreKey(a.restore.Successor)]
		}
		if h, ok := m.ids[a.restore.Successor]; ok && r.Successor == uuid.Nil {
			r.Successor = h.ID
		}
		detail := map[string]string{}
		if r.Successor == uuid.Nil {
			a.outcome.Notes = append(a.outcome.Notes, "what superseded it is not here")
		} else {
			detail["by"] = r.Successor.String()
		}
		ins.Audit = append(ins.Audit, AuditEntry{At: m.now, Verb: VerbSupersede, Subject: r.ID, Revision: r.Revision, Detail: detail, Space: m.tx.Space(a.draft.space).ID})
	}
}

// store writes what run decided.
func (m *importing) store(ctx context.Context) error {
	if len(m.former) > 0 {
		if err := m.tx.AddFormerElements(ctx, m.c.Project, m.former, m.now); err != nil {
			return err
		}
	}
	all := make([]Insertion, 0, len(m.inserts))
	for _, ins := range m.inserts {
		if len(ins.Audit) == 0 {
			ins.Audit = []AuditEntry{{At: m.now, Verb: VerbRemember, Subject: ins.Record.ID, Revision: ins.Record.Revision}}
		}
		all = append(all, *ins)
	}
	if err := m.tx.InsertAll(ctx, m.c, all); err != nil {
		return err
	}
	for _, d := range m.doubts {
		if m.pending[d.Memory] == nil {
			continue // it was refused
		}
		if err := m.tx.OpenDoubt(ctx, d); err != nil {
			return err
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.changed), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
		e := m.changed[id]
		e.Revision++
		if err := m.tx.Attach(ctx, id, m.missing[id], m.now); err != nil {
			return err
		}
		if err := m.tx.Revise(ctx, e, IndexOf(&e.Memory), m.c, m.now); err != nil {
			return err
		}
		if err := m.tx.Audit(ctx, m.c, AuditEntry{At: m.now, Verb: VerbEdit, Subject: id, Revision: e.Revision, Space: e.Space}); err != nil {
			return err
		}
	}
	for _, r := range m.refresh {
		recs, err := m.tx.Records(ctx, []uuid.UUID{r.id})
		if err != nil {
			return err
		}
		if len(recs) != 1 || recs[0].Status == Erased || !r.at.After(recs[0].ConfirmedAt) && r.confirmations <= recs[0].Confirmations {
			continue
		}
		at, n := recs[0].ConfirmedAt, max(r.confirmations, recs[0].Confirmations)
		if r.at.After(at) {
			at = r.at
		}
		if err := m.tx.SetConfirmed(ctx, r.id, at, n); err != nil {
			return err
		}
		entry := AuditEntry{At: m.now, Verb: VerbImport, Subject: r.id, Revision: recs[0].Revision, Space: recs[0].Space,
			Detail: map[string]string{"confirmed_at": at.Format(time.RFC3339Nano), "confirmations": strconv.Itoa(n)}}
		if err := m.tx.Audit(ctx, m.c, entry); err != nil {
			return err
		}
	}
	for space, merged := range m.keep {
		if err := m.tx.KeepKeys(ctx, space, merged); err != nil {
			return err
		}
	}
	return nil
}
