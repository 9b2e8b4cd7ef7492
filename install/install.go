// Package install writes Stele into the configuration of coding agents' clients, and takes it out again.
//
// What would change is a Plan: whole files before and after, made from the table of clients (Clients) without touching anything.
// Apply carries a plan out: it refuses a file that changed meanwhile, writes each file whole or not at all, through symbolic links,
// and keeps in Stele's state folder what undoes it (see record). Files are edited where they stand: comments, order, indentation,
// line ends and everything that is not Stele's stay as they are, byte for byte. Removal gives the file that was there before; where
// a person edited it meanwhile, it takes out what is Stele's and nothing else.
//
// No token is ever written. Files of a repository name the program by its bare name and a local connection, since they are shared.
package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/stele-dev/stele/internal/problem"
)

// Environment is the machine that clients are configured on.
type Environment struct {
	OS        string                    // as runtime.GOOS
	Home      string                    // of the person; "" where there is none
	Variables map[string]string         // of the process: some clients keep their files where a variable says
	Project   string                    // top folder of the repository; "" outside any
	State     string                    // folder that keeps what undoes an installation
	Search    func(program string) bool // whether a program is on the path; nil finds none
}

// Scope is for whom a client is configured.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // for the person, in every project
	Project Scope = "project" // for everybody who works in a repository
)

// Options are what to install.
type Options struct {
	Scope   Scope
	Binary  string // absolute path of the program
	Version string // of the program
	Observe bool   // hooks log what they would say, and say nothing
	NoMCP   bool   // hooks only: no tool stands in the model's context
	Guard   string // "ask": ask before an edit where another session works alone; "" never
	Server  string // address of a server; "" where the database is on this machine
	// Endpoint is the address of one project's MCP on that server. It is used by clients that can read the token from the
	// environment; "" starts the program instead, which finds project and token itself.
	Endpoint string
}

// Edit is one file before and after.
type Edit struct {
	Path   string   // as the client names it
	Target string   // the file that is written: Path, or what the symbolic link there leads to
	What   []string // what changes, for people
	Before []byte
	After  []byte
	Exists bool // before
	Remove bool // the file goes away

	record fileRecord
}

// Plan is what would change, and what else a person should know.
type Plan struct {
	Client Client
	Scope  Scope
	Edits  []Edit // only files that change
	Notes  []string
	Rivals []Rival // other memories that would speak beside Stele

	program string // version
	binary  string
	kept    []fileRecord // of files that do not change now
	removal bool
}

// Changes tells whether there is anything to do.
func (p Plan) Changes() bool { return len(p.Edits) > 0 }

// Diff shows what would change as a unified diff.
func (p Plan) Diff() string {
	var b strings.Builder
	for _, e := range p.Edits {
		from, to := e.Path, e.Path
		if !e.Exists {
			from = "/dev/null"
		}
		if e.Remove {
			to = "/dev/null"
		}
		b.WriteString(udiff.Unified(from, to, string(e.Before), string(e.After)))
	}
	return b.String()
}

// Prepare plans an installation. Nothing is written.
func Prepare(c Client, env Environment, o Options) (Plan, error) {
	if err := o.check(c, env); err != nil {
		return Plan{}, err
	}
	p := &planner{client: c, env: env, options: o}
	if err := p.load(); err != nil {
		return Plan{}, err
	}
	if c.MCP != nil {
		if err := p.mcp(); err != nil {
			return Plan{}, err
		}
	}
	if c.Hooks != nil {
		if err := p.hooks(); err != nil {
			return Plan{}, err
		}
	}
	if c.Text != nil {
		if err := p.instructions(); err != nil {
			return Plan{}, err
		}
	}
	plan := p.plan()
	plan.Rivals = rivals(c, env)
	return plan, nil
}

func (o Options) check(c Client, env Environment) error {
	switch {
	case o.Scope == Project && env.Project == "":
		return problem.Invalidf("project-level", "this folder belongs to no repository").Fix("run it in a repository, or leave --project-level out")
	case o.Scope == User && env.Home == "":
		return problem.New(problem.Unavailable, "HOME", "there is no home folder, so it is not known where "+c.Name+" keeps its settings",
			"set HOME", "or configure one repository: stele install "+c.ID+" --project-level")
	case o.Scope == User && c.onlyProject():
		return problem.Invalidf("client", "%s is read from repositories only", c.Name).Fix("stele install %s --project-level", c.ID)
	case o.Scope == Project && c.onlyUser():
		return problem.Invalidf("project-level", "%s has no settings of a repository", c.Name).Fix("stele install %s", c.ID)
	case c.Hooks == nil && (o.Observe || o.NoMCP || o.Guard != ""):
		return problem.Invalidf("", "%s has no hooks that Stele uses, and --observe, --no-mcp and --guard are about hooks", c.Name).
			Fix("stele install %s", c.ID)
	case o.Guard != "" && o.Guard != "ask":
		return problem.Invalidf("guard", "%q is not known", o.Guard).Fix("say --guard ask, or leave it out")
	case !filepath.IsAbs(o.Binary):
		return problem.Invalidf("", "the path of the program is not known: %q", o.Binary).Fix("start it by its full path")
	}
	return nil
}

// planner collects what changes in which file.
type planner struct {
	client  Client
	env     Environment
	options Options
	prior   record
	edits   []Edit
	kept    []fileRecord
	notes   []string
}

// load reads what an earlier installation left to undo it.
func (p *planner) load() error {
	var err error
	p.prior, err = readRecord(p.env.State, p.client.ID, p.options.Scope, p.env.Project)
	return err
}

// source is a file as it is.
type source struct {
	path, target string
	text         []byte
	exists       bool
}

// open reads a file, through symbolic links. One that is not there is empty.
func open(path string) (source, error) {
	s := source{path: path, target: path}
	// A link may lead to a file that is still to be made.
	for range maxLinks {
		to, err := os.Readlink(s.target)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(s.target), to)
		}
		s.target = to
	}
	info, err := os.Stat(s.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, problem.New(problem.Unavailable, path, "the file cannot be looked at: "+reason(err), "make it readable for you").Because(err)
	case info.IsDir():
		return s, problem.Invalidf(path, "it is a folder, and a file is expected there")
	case info.Size() > maxFile:
		return s, problem.New(problem.TooLarge, path, fmt.Sprintf("the file has %d bytes, more than is edited", info.Size()), "add the lines by hand")
	}
	if s.text, err = os.ReadFile(s.target); err != nil {
		return s, problem.New(problem.Unavailable, path, "the file cannot be read: "+reason(err), "make it readable for you").Because(err)
	}
	s.exists = true
	return s, nil
}

// Bounds of files that are edited: what a client writes is smaller, a loop of links ends.
const (
	maxFile  = 64 << 20
	maxLinks = 40
)

// reason is an error of the system without the path, which the problem names.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// changed notes a file whose text an edit left otherwise, or keeps what an earlier installation noted of it.
func (p *planner) changed(s source, d document, r fileRecord, what ...string) {
	at := slices.IndexFunc(p.edits, func(e Edit) bool { return e.Target == s.target })
	prior, known := p.prior.file(s.target)
	if len(d.splices) == 0 {
		if known && at < 0 {
			p.kept = append(p.kept, prior)
		}
		return
	}
	r.Path, r.Target, r.Splices, r.After = s.path, s.target, d.splices, digest(d.text)
	r.Created = !s.exists
	if known {
		r = r.behind(prior, digest(s.text) == prior.After)
	}
	p.edits = append(p.edits, Edit{Path: s.path, Target: s.target, What: what, Before: s.text, After: d.text, Exists: s.exists, record: r})
}

func (p *planner) plan() Plan {
	return Plan{Client: p.client, Scope: p.options.Scope, Edits: p.edits, Notes: p.notes, program: p.options.Version, binary: p.options.Binary, kept: p.kept}
}

// refuse says why a file is left alone, and what to write into it.
func refuse(path string, err error, byHand string) error {
	at := new(syntaxError)
	if errors.As(err, &at) {
		return problem.Invalidf(path, "%s; nothing was changed", at.Error()).Fix("mend the file there and try again").Fix("or add by hand: %s", byHand).Because(err)
	}
	return problem.Invalidf(path, "%s; nothing was changed", err.Error()).Fix("add by hand: %s", byHand).Because(err)
}
