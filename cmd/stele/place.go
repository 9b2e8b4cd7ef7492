package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// place is where the program was called: the folder, its repository, and what the repository says about itself.
type place struct {
	dir      string
	checkout *checkout.Checkout // nil outside any repository
	unclear  error              // why the repository that is there cannot be known; nothing may be guessed then
	folder   string             // of the project inside the repository, with slashes; "" at the top
	file     config.Repository  // zero without stele.yaml

	mu      sync.Mutex
	version string // of HEAD, for which seen holds
	seen    memory.Seen
	repo    *git.Repository // once the working tree was looked at
}

func findPlace(ctx context.Context, dir string) (*place, error) {
	p := &place{dir: dir}
	c, err := checkout.Find(ctx, dir)
	if errors.Is(err, checkout.ErrOutside) {
		return p, nil
	}
	if err != nil {
		// Whoever names the project needs no repository.
		p.unclear = err
		return p, ctx.Err()
	}
	p.checkout = c
	p.folder = config.NearestRepository(c.Root, dir)
	p.file, _, err = config.ReadRepository(p.home())
	return p, err
}

// user is who writes.
func (p *place) user(ctx context.Context, configured string) string {
	name := configured
	if name == "" {
		name = checkout.UserName(ctx, p.dir)
	}
	// An author is written agent/user, so a slash would tell of another agent.
	return strings.ReplaceAll(strings.Join(strings.Fields(memory.Plain(name)), " "), "/", "-")
}

// root is the folder that repository-relative paths start from.
func (p *place) root() string {
	if p.checkout != nil {
		return p.checkout.Root
	}
	return p.dir
}

// home is the folder of the project: where its stele.yaml is, or would be.
func (p *place) home() string { return filepath.Join(p.root(), filepath.FromSlash(p.folder)) }

// settings is the project's stele.yaml, relative to the root of the repository.
func (p *place) settings() string { return path.Join(p.folder, config.RepositoryFile) }

// name is what people would call the project: the repository, and inside it the folder.
func (p *place) name() string {
	if p.folder == "" {
		return p.checkout.Name()
	}
	return p.checkout.Name() + "-" + strings.ReplaceAll(p.folder, "/", "-")
}

// look is the state of the code before the writer; nil outside any repository.
func (p *place) look(ctx context.Context) *memory.Seen {
	if p.checkout == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// An agent writes many memories on one commit; git is asked again only when its files changed.
	version := p.checkout.HeadVersion()
	if version == "" || version != p.version {
		commit, branch := p.checkout.Head(ctx)
		p.seen, p.version = memory.Seen{Commit: commit, Branch: branch}, version
	}
	seen := p.seen
	seen.TreeOf = p.treeOf
	return &seen
}

// patience is how long a writer waits for git to tell the state of the files. Without it a memory is stored all the same.
const patience = 3 * time.Second

// treeOf is the state of the files that match patterns as a commit of the working tree would have them: whoever remembers
// something about a change has it before them, though it is not committed yet. "" when git cannot tell.
func (p *place) treeOf(ctx context.Context, patterns []string) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p.mu.Lock()
	repo := p.repo
	p.mu.Unlock()
	if repo == nil {
		var err error
		if repo, err = git.Open(ctx, p.checkout.Root); err != nil {
			return ""
		}
		p.mu.Lock()
		p.repo = repo
		p.mu.Unlock()
	}
	owners := c4model.NewOwnership(patterns)
	files, err := repo.Working(ctx, func(path string) bool { return len(owners.Covering(path)) > 0 })
	if err != nil {
		return ""
	}
	return evidence.TreeHash(files, patterns)
}

// worktree tells this working tree from others, of this machine and of all: opaque, since paths say more than anybody has to
// know. "" outside any repository.
func (p *place) worktree() string {
	host, err := os.Hostname()
	if p.checkout == nil || err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", host, p.checkout.Root))
	return hex.EncodeToString(sum[:16])
}

// relative gives a path relative to the root of the repository, as memories name paths. Of a glob, that is the folder it
// begins with.
func (p *place) relative(name string) string {
	slashed := filepath.ToSlash(name)
	if name == "" || p.checkout == nil {
		return strings.TrimPrefix(slashed, "./")
	}
	if strings.ContainsAny(slashed, "*?[{") {
		folder, pattern := doublestar.SplitPattern(slashed)
		if folder = p.relative(filepath.FromSlash(folder)); folder == "." {
			return pattern
		}
		return folder + "/" + pattern
	}
	absolute := name
	if !filepath.IsAbs(name) {
		absolute = filepath.Join(p.dir, name)
		if _, err := os.Lstat(absolute); err != nil {
			// Not below this folder: perhaps it was written from the root already, as Stele prints paths.
			if _, err := os.Lstat(filepath.Join(p.checkout.Root, name)); err == nil {
				return path.Clean(slashed)
			}
		}
	}
	if rel, err := filepath.Rel(p.checkout.Root, absolute); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return slashed
}

// identities are the names by which a project may know this place, the surest first.
func (p *place) identities() []string {
	var out []string
	if p.file.Project != uuid.Nil {
		out = append(out, p.file.Project.String(), "id:"+p.file.Project.String())
	}
	if p.checkout != nil {
		for _, identity := range p.checkout.Identities() {
			if p.folder != "" {
				identity += "//" + p.folder // the repository itself is another project
			}
			out = append(out, identity)
		}
	}
	return out
}

// Caller says who asks about which project. named goes over the configuration, the configuration over the repository.
// A project that is named or implied and does not exist is made when the call writes: it is the embedded default's promise
// that nobody has to set anything up. A server serves others too, and wants it made on purpose.
func (b *backend) Caller(ctx context.Context, named string, writes bool) (memory.Caller, error) {
	c, err := b.callerMaking(ctx, named, writes && b.remote == nil)
	if err == nil && c.Project == uuid.Nil && b.remote != nil {
		err = b.missing(ctx, c)
	}
	return c, err
}

// callerMaking is Caller that makes the project when asked to, and otherwise leaves one that is not there at uuid.Nil.
func (b *backend) callerMaking(ctx context.Context, named string, writes bool) (memory.Caller, error) {
	c := b.caller()
	// An agent asks hundreds of times from one place, and a project once found stays what it is.
	if found, ok := b.projects.Load(named); ok {
		c.Project, _ = found.(uuid.UUID)
		return c, nil
	}
	project, err := b.resolve(ctx, c, named, writes)
	if err == nil && project != uuid.Nil {
		b.projects.Store(named, project)
	}
	c.Project = project
	return c, err
}

// missing says that the server knows no project for this place, and which it knows.
func (b *backend) missing(ctx context.Context, c memory.Caller) error {
	name := b.config.Project
	if name == "" && b.place.checkout != nil {
		name = b.place.name()
	}
	p := problem.New(problem.NotFound, "project", fmt.Sprintf("the server knows no project for this place (%s)", memory.Line(name)),
		"make it: stele project create "+quoteName(name)+", or stele init in its repository")
	projects, err := b.Projects(ctx, c)
	for _, known := range projects[:min(len(projects), maxOffered)] {
		_ = p.Fix("--project %s (%s)", quoteName(known.Name), known.ID)
	}
	if len(projects) > maxOffered {
		_ = p.Fix("stele project list has all %d", len(projects))
	}
	return cmp.Or(err, error(p))
}

// maxOffered bounds how many projects an error lists.
const maxOffered = 10

// caller is who asks, before it is known which project about.
func (b *backend) caller() memory.Caller {
	return memory.Caller{Org: b.org, User: b.user, Role: b.role, Door: memory.FromCLI}
}

func (b *backend) resolve(ctx context.Context, c memory.Caller, named string, writes bool) (uuid.UUID, error) {
	if named != "" {
		p, err := b.FindProject(ctx, c, named)
		return p.ID, err
	}
	projects, err := b.Projects(ctx, c)
	if err != nil {
		return uuid.Nil, err
	}
	if name := b.config.Project; name != "" {
		if p, ok := memory.MatchProject(projects, name); ok {
			return p.ID, nil
		}
		if _, err := uuid.Parse(name); err == nil || strings.Contains(name, ":") {
			_, err := b.FindProject(ctx, c, name) // an id or identity is nothing to make a project from
			return uuid.Nil, err
		}
		return b.make(ctx, c, name, nil, writes)
	}
	if b.bound != uuid.Nil {
		return b.bound, nil // the token names it
	}
	if b.place.unclear != nil {
		return uuid.Nil, b.place.unclear
	}
	identities := b.identities()
	for _, identity := range identities {
		if p, ok := memory.MatchProject(projects, identity); ok {
			return p.ID, b.learn(ctx, c, projects, p, identity, identities)
		}
	}
	if b.place.checkout != nil {
		return b.make(ctx, c, b.place.name(), identities, writes)
	}
	if len(projects) == 1 {
		return projects[0].ID, nil
	}
	p := problem.New(problem.Invalid, "project", "this folder belongs to no repository, so it does not say which project is meant")
	for _, known := range projects[:min(len(projects), maxOffered)] {
		_ = p.Fix("--project %s (%s)", quoteName(known.Name), known.ID)
	}
	if len(projects) == 0 {
		_ = p.Fix("run stele init in a repository, or name a project with --project or STELE_PROJECT")
	}
	return uuid.Nil, p
}

// identities are those by which the project of this place may be known. What is true of a folder of this machine says
// nothing on a server: two containers have the same paths.
func (b *backend) identities() []string {
	all := b.place.identities()
	if b.remote == nil {
		return all
	}
	return slices.DeleteFunc(all, func(i string) bool { return strings.HasPrefix(i, "gitdir:") })
}

// learn makes the project found by one identity known by the others of this place: a remote that was added later, the
// folder of another clone. What another project is known by stays there. A folder alone does not vouch for a second
// remote: another repository may have taken its place.
func (b *backend) learn(ctx context.Context, c memory.Caller, projects []memory.ProjectInfo, p memory.ProjectInfo, by string, identities []string) error {
	isRemote := func(i string) bool { return strings.HasPrefix(i, "remote:") }
	doubtful := strings.HasPrefix(by, "gitdir:") && slices.ContainsFunc(p.Identities, isRemote)
	fresh := slices.DeleteFunc(lasting(identities), func(i string) bool {
		_, taken := memory.MatchProject(projects, i)
		return taken || i == "id:"+p.ID.String() || doubtful && isRemote(i)
	})
	err := b.AddIdentities(ctx, c, p.ID, fresh)
	if problem.Is(err, problem.Forbidden) {
		return nil // it was found without them; somebody with the right to will teach it
	}
	return err
}

// lasting are the identities that a project keeps. An id in stele.yaml that this database does not know came with the
// repository from another one: it is kept as a name.
func lasting(identities []string) []string {
	return slices.DeleteFunc(slices.Clone(identities), func(i string) bool { return !strings.Contains(i, ":") })
}

// maxSameName bounds the numbers tried behind a name that another repository has.
const maxSameName = 50

// make creates the project when the call writes; for one that reads it does not exist, and there is nothing to find.
func (b *backend) make(ctx context.Context, c memory.Caller, name string, identities []string, writes bool) (uuid.UUID, error) {
	if !writes {
		return uuid.Nil, nil
	}
	kept := lasting(identities)
	for n := 1; ; n++ {
		numbered := name
		if n > 1 {
			numbered = fmt.Sprintf("%s-%d", name, n)
		}
		p, err := b.CreateProject(ctx, c, numbered, kept)
		// Two repositories of one name are two projects; without identities the name is all there is, so on one machine it
		// is the same one.
		if problem.Is(err, problem.Conflict) && n < maxSameName {
			if len(kept) == 0 && b.remote != nil {
				// Somebody else may have meant another repository by that name.
				return uuid.Nil, problem.New(problem.Conflict, "project", fmt.Sprintf("the server has a project %q, and nothing tells whether it is this repository", name),
					"to work in it: stele --project "+quoteName(name)+" init", "else make one by another name: stele --project NAME init")
			}
			if len(kept) == 0 {
				found, ferr := b.FindProject(ctx, c, name)
				return found.ID, ferr
			}
			continue
		}
		return p.ID, err
	}
}
