package memory

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
)

// Store keeps memories and the model they hang on. It encrypts below this interface: everything here is plain text.
// Every call runs in one transaction of one organization; the database shows nothing of another.
type Store interface {
	// View runs fn on one consistent snapshot, read-only. fn may be run again, on another snapshot, when it began with keys
	// that have been replaced: it must not keep results of an earlier run.
	View(ctx context.Context, org uuid.UUID, fn func(View) error) error
	// Write runs fn in one transaction that has taken the given spaces for itself, in that order (organization first),
	// creating those that do not exist. It commits when fn returns nil and leaves nothing behind otherwise. fn may be
	// run again after a serialisation failure, so it must not keep results of an earlier run.
	Write(ctx context.Context, org uuid.UUID, spaces []SpaceKey, fn func(Tx) error) error

	impressor
	retainer
	tenants
	tokens
	signIns
	healthStore
}

// SpaceKey names a space: the unit of search and of serialised writing.
type SpaceKey struct {
	Scope Scope
	Owner string // project id, "" for the organization, user name for personal
}

// Space is a space as stored.
type Space struct {
	SpaceKey
	ID   int32
	Live int // memories in recall
	// WithoutOrganization is the setting of the project whose space it is (ProjectSettings).
	WithoutOrganization bool
}

// Record is a memory as stored, with what ranking and rules need beside what doors show. Memory.Elements, Paths, Tags,
// Flags are filled; Memory.Links holds the texts, unresolved.
type Record struct {
	Memory
	Space      int32
	Seq        int32
	Owner      string    // user name whose personal memory it is, else ""
	ProjectID  uuid.UUID // where it was written; uuid.Nil outside any project
	Agent      string
	User       string
	Verify     bool
	Disputed   bool
	Citations  int
	IgnoredBy  int
	Successor  uuid.UUID // memory that superseded it
	LinkHashes [][]byte
	PathsOf    []uuid.UUID // projects whose repositories the Paths are of, in their order, as far as known
}

// Element is an element of a project's model as stored.
type Element struct {
	c4model.Element
	ID        uuid.UUID
	ProjectID uuid.UUID
	ParentID  uuid.UUID
	InScope   bool
	Ordinal   int
	RemovedAt *time.Time
}

// Ref is the element as memories show it.
func (e Element) Ref() ElementRef {
	return ElementRef{ID: e.ID, Key: e.Key, Name: e.Name, Level: string(e.Level), Orphan: e.RemovedAt != nil}
}

// View is what can be read in a transaction. It is the sum of what the rules of each file declare.
type View interface {
	recordView
	candidateView
	modelView
	recallView
	knowledgeView
	eventView
	auditView
	answerView
	backlog
	statsView
	elementVectorView
	runView
	runsView
	usageView
}

// recordView reads memories one by one.
type recordView interface {
	// Spaces gives those of the keys that exist, in no order.
	Spaces(ctx context.Context, keys []SpaceKey) ([]Space, error)
	// Records loads memories by id, in the order asked; unknown ids are left out.
	Records(ctx context.Context, ids []uuid.UUID) ([]Record, error)
	// ByHandle finds a memory of any status; uuid.Nil when there is none.
	ByHandle(ctx context.Context, handle string) (uuid.UUID, error)
	// LiveSuccessor follows the successors of a superseded memory to the live one; uuid.Nil when the last is not live.
	LiveSuccessor(ctx context.Context, memory uuid.UUID) (uuid.UUID, error)
	// ByTitle finds the live memory of that folded title in each space; the first space wins.
	ByTitle(ctx context.Context, spaces []int32, folded string) (uuid.UUID, error)
	// Targets gives what bears each of the names, in the order asked.
	Targets(ctx context.Context, q TargetQuery) ([]Target, error)
	// List gives the ids of the memories a query selects, newest first.
	List(ctx context.Context, q ListQuery) ([]uuid.UUID, error)
	// Around gives the ids of memories recorded around an anchor, the anchor included, oldest first.
	Around(ctx context.Context, q AroundQuery) ([]uuid.UUID, error)
	// Versions gives the texts a memory had, oldest first.
	Versions(ctx context.Context, memory uuid.UUID) ([]Version, error)
	// Events gives the trail of a memory in words, oldest first.
	Events(ctx context.Context, memory uuid.UUID) ([]Event, error)
}

// ListQuery selects memories of some spaces.
type ListQuery struct {
	ListRequest
	Spaces      []int32
	Element     uuid.UUID // uuid.Nil = any
	Agent, User string
	Before      uuid.UUID // ids are UUIDv7: only memories older than this one; uuid.Nil = from the newest
}

// AroundQuery selects memories that share an element with an anchor, or its spaces when it has none.
type AroundQuery struct {
	Anchor   uuid.UUID
	At       time.Time
	Spaces   []int32
	Elements []uuid.UUID
	Limit    int // on each side
}

// modelView reads a project's model.
type modelView interface {
	// Elements gives the project's elements in order of declaration, removed ones only when asked.
	Elements(ctx context.Context, project uuid.UUID, removed bool) ([]Element, error)
	// FindElements gives the live element of the project whose key is name (without case), else the one that had that key
	// before, else all of that name.
	FindElements(ctx context.Context, project uuid.UUID, name string) ([]Element, error)
	// Aliases gives the keys elements of the project had before.
	Aliases(ctx context.Context, project uuid.UUID) (map[string]uuid.UUID, error)
	// Bindings gives the project's bindings.
	Bindings(ctx context.Context, project uuid.UUID) ([]ElementBinding, error)
	// Decisions gives the project's decisions, by number.
	Decisions(ctx context.Context, project uuid.UUID) ([]c4model.Decision, error)
	// LastImport gives the newest import of the model.
	LastImport(ctx context.Context, project uuid.UUID) (LastImport, error)
	// CountAttached counts the live memories of the spaces that are attached to an element.
	CountAttached(ctx context.Context, spaces []int32, element uuid.UUID) (int, error)
	// Relationships gives the project's relationships by element key.
	Relationships(ctx context.Context, project uuid.UUID) ([]c4model.Relationship, error)
}

// ElementBinding is a binding with the element it belongs to.
type ElementBinding struct {
	c4model.Binding
	ElementID uuid.UUID
}

// ErrTaken says that an id, handle or import key of a new memory is taken: draw again.
var ErrTaken = errors.New("taken")

// Index is what a live memory is found by. The Store keeps terms, titles and link targets as keyed hashes only.
type Index struct {
	Terms  []string // distinct search terms
	Tags   []string // folded
	Title  string   // folded; "" without a title
	Normal string   // normalised content
	Links  []string // link targets as written, in order
}

// Near is an existing memory close to a new text.
type Near struct {
	ID       uuid.UUID
	SameText bool    // equal normalised content
	Cosine   float64 // of the vectors; 0 when either has none
	Overlap  float64 // Jaccard of the terms; 0 when both have vectors
}

// NearQuery asks for live memories of one space and kind close to a text.
type NearQuery struct {
	Space      int32
	Kind       Kind
	Normal     string
	Terms      []string
	Model      string // of Vector
	Vector     []float32
	MinCosine  float64
	MinOverlap float64
	Limit      int
}

// Doubt is a reason not to trust a memory, open until cleared.
type Doubt struct {
	Memory  uuid.UUID
	Cause   string    // drifted, evidence_gone, rewritten, disputed
	Element uuid.UUID // uuid.Nil when none
	Since   time.Time
	Reason  string    // words
	Stamp   uuid.UUID // that makes it; uuid.Nil when none does
	Origin  string    // Stamp.Origin, or its like; "" when it is a cause of its own
}

// AuditEntry is one line of the append-only trail: ids and verbs, never content.
type AuditEntry struct {
	At       time.Time
	Verb     Verb
	Subject  uuid.UUID
	Revision int
	Detail   map[string]string // ids, commits, counts
	Space    int32             // whose event it is; 0 = the project's, or the only one the transaction holds
}

// Verb is what happened, as the trail records it.
type Verb string

// The verbs on memories. Status and confirmations of any moment follow from them.
const (
	VerbRemember  Verb = "remember"
	VerbRestate   Verb = "restate" // deduplicated: counts as a confirmation
	VerbConfirm   Verb = "confirm"
	VerbDispute   Verb = "dispute"
	VerbSupersede Verb = "supersede"
	VerbRetire    Verb = "retire"
	VerbRestore   Verb = "restore"
	VerbErase     Verb = "erase"
	VerbEdit      Verb = "edit"
	VerbAttach    Verb = "attach"
	VerbDoubt     Verb = "doubt"
	VerbUnconfirm Verb = "unconfirm" // a confirmation was taken back
	VerbPromote   Verb = "promote"   // it stands for a memory of a project, with its confirmations
	VerbPropose   Verb = "propose"   // a candidate was found, or is one again

	VerbPushRun         Verb = "push_run"
	VerbSetDrift        Verb = "set_drift"
	VerbImportModel     Verb = "import_model"
	VerbImportDecisions Verb = "import_decisions"
	VerbCreateProject   Verb = "create_project"
	VerbAddIdentity     Verb = "add_identity"
	VerbCreateToken     Verb = "create_token"
	VerbRevokeToken     Verb = "revoke_token"
)

// Attachment is one element a memory is attached to, and why.
type Attachment struct {
	Element uuid.UUID
	Reason  string // writer, path, inherited, restated, reattached
	Path    string // for reason path
}

// Tx is what a write can do, in the transaction that holds its spaces.
type Tx interface {
	View
	// Space gives a space this transaction has taken; a zero one when it has not.
	Space(key SpaceKey) Space
	// Holds tells whether this transaction has taken a space.
	Holds(space int32) bool
	// Near finds live memories close to a text, closest first.
	Near(ctx context.Context, q NearQuery) ([]Near, error)
	// BySource finds the memory an import already made of a record.
	BySource(ctx context.Context, space int32, key string) (uuid.UUID, error)
	// Shown tells what the session was last shown of a memory.
	Shown(ctx context.Context, session string, memory uuid.UUID) (Shown, error)

	// Insert stores a new live memory and indexes it; it fills r.Seq.
	Insert(ctx context.Context, r *Record, at []Attachment, ix Index, sourceKey string, batch uuid.UUID) error
	// Revise stores a new revision (r.Revision already counts it) of text, tags, paths and expiry and indexes it anew.
	Revise(ctx context.Context, r *Record, ix Index, by Caller, now time.Time) error
	// Reindex replaces what a live memory is found by, without a new revision.
	Reindex(ctx context.Context, r *Record, ix Index) error
	// Confirm records that a memory holds.
	Confirm(ctx context.Context, c Confirmation) error
	// SetStatus moves a memory between live, superseded and retired; index is non-nil exactly when it becomes live.
	SetStatus(ctx context.Context, r *Record, status Status, successor uuid.UUID, index *Index) error
	// Erase destroys every text of a memory and leaves its row as a tombstone.
	Erase(ctx context.Context, r *Record, now time.Time) error
	// Attach adds elements; those already attached are left as they are.
	Attach(ctx context.Context, memory uuid.UUID, at []Attachment, now time.Time) error
	// Detach ends attachments.
	Detach(ctx context.Context, memory uuid.UUID, elements []uuid.UUID, now time.Time) error
	// OpenDoubt adds a doubt and flags its memory.
	OpenDoubt(ctx context.Context, d Doubt) error
	// Remark keeps what somebody said with a write on a memory, beside its entry in the trail of that instant.
	Remark(ctx context.Context, memory uuid.UUID, text string, at time.Time) error
	// Cite records that a session relied on a memory; a second time changes nothing.
	Cite(ctx context.Context, memory uuid.UUID, session string, observed bool, now time.Time) error
	// SetVector stores a vector of a live memory.
	SetVector(ctx context.Context, space, seq int32, model string, vector []float32) error
	// RefuseVector notes that a model cannot embed the current text of a memory.
	RefuseVector(ctx context.Context, memory uuid.UUID, model string) error
	// Audit appends to the trail.
	Audit(ctx context.Context, by Caller, entries ...AuditEntry) error

	modelTx
	answers
	runTx
	projectTx
	elementVectorTx
	conflictTx
	promotionTx
	importTx
}

// Shown is what a session was last shown of a memory in more than an index line; zero when it was not.
type Shown struct {
	Revision  int
	DoubtedAt time.Time // the newest doubt it was shown with
}

// Confirmation is one statement that a memory holds.
type Confirmation struct {
	Memory      uuid.UUID
	At          time.Time
	Seen        *Seen // nil keeps what was seen before
	ClearDoubts bool
	Reviewed    bool       // it stops being unreviewed
	Expires     *time.Time // with SetExpires: the new expiry, nil = never
	SetExpires  bool
}

// modelTx changes a project's model.
type modelTx interface {
	// SaveModel applies a reconciled model.
	SaveModel(ctx context.Context, project uuid.UUID, change ModelChange) error
	// SaveDecisions replaces the decisions that came from one source.
	SaveDecisions(ctx context.Context, project uuid.UUID, source string, decisions []c4model.Decision) error
	// AttachedTo lists the live memories attached to any of the elements, of every space.
	AttachedTo(ctx context.Context, elements []uuid.UUID) ([]uuid.UUID, error)
	// PathsOf lists the live memories of the project that name paths, with the paths and the elements they ever were
	// attached to by path, so that an attachment a person removed does not come back.
	PathsOf(ctx context.Context, project uuid.UUID) ([]PathMemory, error)
	bindingTx
}

// PathMemory is a memory with the paths it names.
type PathMemory struct {
	ID    uuid.UUID
	Paths []string
	Ever  []uuid.UUID // elements it is or was attached to
}

// ModelChange is a model as it becomes, by element id.
type ModelChange struct {
	At            time.Time
	Elements      []Element // new and changed ones, whole
	Removed       []uuid.UUID
	Renamed       []uuid.UUID          // have another name than before
	Aliases       map[string]uuid.UUID // old key → element
	Relationships []StoredRelationship
	Bindings      []ElementBinding
	Source        string
	Digest        []byte
	Counts        map[string]int
	Actor         string
}

// StoredRelationship is a relationship by element ids.
type StoredRelationship struct {
	c4model.Relationship
	SourceID, DestinationID uuid.UUID
}
