package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/install"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// installed is the answer of `stele install CLIENT` and `stele uninstall CLIENT`.
type installed struct {
	Client  string          `json:"client"`
	Scope   install.Scope   `json:"scope"`
	Changes []fileChange    `json:"changes"` // empty: there was nothing to do
	Applied bool            `json:"applied"` // the changes were made
	Notes   []string        `json:"notes"`
	Rivals  []install.Rival `json:"rivals"` // other memories that would speak beside Stele
	Proof   []proved        `json:"proof"`  // what the client will get, tried; empty where nothing was
	Next    string          `json:"next"`   // what the person has to do
}

type fileChange struct {
	Path   string   `json:"path"`
	What   []string `json:"what"`
	Create bool     `json:"create"`
	Remove bool     `json:"remove"`
}

// clientState is a client in the answer of `stele install`.
type clientState struct {
	Client   string       `json:"client"`
	Name     string       `json:"name"`
	Detected bool         `json:"detected"`
	At       []clientSeat `json:"installed"`
}

// clientSeat is Stele in a client, for one scope.
type clientSeat struct {
	Scope   install.Scope `json:"scope"`
	Files   []string      `json:"files"`
	MCP     bool          `json:"mcp"`
	Hooks   []string      `json:"hooks"`
	Observe bool          `json:"observe"`
	Program string        `json:"program"`
	Version string        `json:"version"`
	Missing bool          `json:"missing"` // the program is not there any more
}

// installFlags are those of both commands.
type installFlags struct {
	projectLevel, observe, noMCP, dryRun, yes bool
	guard                                     string
}

func (f installFlags) scope() install.Scope {
	if f.projectLevel {
		return install.Project
	}
	return install.User
}

func (a *app) installCommand() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use: "install [CLIENT]", Short: "Connect the client of a coding agent", Args: cobra.MaximumNArgs(1), ValidArgs: clientIDs(),
		Long: "Write Stele into the settings of a client: the MCP server, and hooks where the\n" +
			"client has them, so that memories arrive by themselves. The changes are shown\n" +
			"first, as a diff. Comments and everything else in the files stay; stele\n" +
			"uninstall gives the same files back. In the end, what the client will start is\n" +
			"started, and asked. Without CLIENT, say which clients are here and how they\n" +
			"stand.\n\n" +
			"Files of a repository (--project-level) are shared, so they hold no token, no\n" +
			"address and no path of this machine.",
		Example: "  stele install\n  stele install claude-code --dry-run\n  stele install codex --yes\n" +
			"  stele install claude-code --observe\n  stele install cursor --project-level",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, name := range []string{"project-level", "observe", "no-mcp", "guard", "dry-run", "yes"} {
					if cmd.Flags().Changed(name) {
						return problem.Invalidf("client", "it is not said which client").Fix("name one of %s", strings.Join(clientIDs(), ", "))
					}
				}
				return a.listClients(cmd.Context())
			}
			return a.install(cmd.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.projectLevel, "project-level", false, "write into this repository, for everybody who works in it")
	c.Flags().BoolVar(&f.observe, "observe", false, "hooks only note what they would say: for a week of trial")
	c.Flags().BoolVar(&f.noMCP, "no-mcp", false, "hooks only, no tools in the context of the model")
	c.Flags().StringVar(&f.guard, "guard", "", "ask: ask before an edit where another session works alone")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the changes, and make none")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	a.completeFlag(c, "guard", fixed("ask"))
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	var f installFlags
	c := &cobra.Command{
		Use: "uninstall CLIENT", Short: "Take Stele out of the settings of a client", Args: cobra.ExactArgs(1), ValidArgs: clientIDs(),
		Long: "Take out of the files of a client what stele install wrote, and nothing else:\n" +
			"a file that nobody edited since becomes what it was, byte for byte. Memories\n" +
			"stay.",
		Example: "  stele uninstall claude-code\n  stele uninstall cursor --project-level --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := install.Find(args[0])
			if err != nil {
				return err
			}
			_, env, err := a.clientHost(cmd.Context())
			if err != nil {
				return err
			}
			plan, err := install.PrepareRemoval(client, env, f.scope())
			if err != nil {
				return err
			}
			out, err := a.carryOut(env, plan, f)
			if err != nil || !out.Applied && len(out.Changes) > 0 && !f.dryRun {
				return errors.Join(err, a.unlessJSON(out))
			}
			out.Next = ""
			return a.answer(out, func(p *printer) {
				switch {
				case len(out.Changes) == 0:
					p.line("%s has nothing of Stele in it.", client.Name)
				case out.Applied:
					p.line("Took Stele out of %s.", client.Name)
				}
			})
		},
	}
	c.Flags().BoolVar(&f.projectLevel, "project-level", false, "out of the files of this repository")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the changes, and make none")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return c
}

func clientIDs() []string {
	var out []string
	for _, c := range install.Clients() {
		out = append(out, c.ID)
	}
	return out
}

// clientHost is where clients are configured, with the settings of this program. Nothing of the domain is opened.
func (a *app) clientHost(ctx context.Context) (config.Config, install.Environment, error) {
	c, err := a.load()
	if err != nil {
		return c, install.Environment{}, err
	}
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	env := install.Environment{
		OS: runtime.GOOS, Home: a.environment.Variables[home], Variables: a.environment.Variables,
		Search: func(program string) bool { _, err := exec.LookPath(program); return err == nil },
	}
	if a.stateDir != "" {
		env.State = filepath.Join(a.stateDir, "clients")
	}
	dir, err := a.folder()
	if err != nil {
		return c, env, err
	}
	found, err := checkout.Find(ctx, dir)
	switch {
	case err == nil:
		env.Project = found.Root
	case !errors.Is(err, checkout.ErrOutside):
		return c, env, err
	}
	return c, env, nil
}

func (a *app) install(ctx context.Context, id string, f installFlags) error {
	client, err := install.Find(id)
	if err != nil {
		return err
	}
	c, env, err := a.clientHost(ctx)
	if err != nil {
		return err
	}
	if env.State == "" {
		return problem.New(problem.Unavailable, "HOME", "there is no home folder, so what undoes the installation cannot be kept",
			"set HOME", "set XDG_STATE_HOME to a folder of your own")
	}
	o := install.Options{Scope: f.scope(), Version: thisBuild().Version, Observe: f.observe, NoMCP: f.noMCP, Guard: f.guard}
	if o.Binary, err = ownPath(); err != nil {
		return err
	}
	var notes []string
	if o.Scope == install.User {
		notes, err = a.towards(ctx, c, client, &o)
		if err != nil {
			return err
		}
	}
	plan, err := install.Prepare(client, env, o)
	if err != nil {
		return err
	}
	plan.Notes = append(notes, plan.Notes...)
	out, err := a.carryOut(env, plan, f)
	if err != nil || !out.Applied && len(out.Changes) > 0 {
		return errors.Join(err, a.unlessJSON(out))
	}
	if !f.dryRun {
		out.Proof = a.prove(ctx, client, env, o.Scope)
	}
	failed := false
	for _, p := range out.Proof {
		failed = failed || !p.OK
	}
	if err := a.answer(out, func(p *printer) { p.installed(client, out) }); err != nil {
		return err
	}
	if failed {
		return errNo
	}
	return nil
}

// unlessJSON prints the answer of a run that changed nothing; people saw it already.
func (a *app) unlessJSON(out installed) error {
	if !a.json {
		return a.out.Flush()
	}
	return a.printJSON(out)
}

// towards says where the client's entry leads: to the database of this machine, by the program to a server, or to the server itself.
func (a *app) towards(ctx context.Context, c config.Config, client install.Client, o *install.Options) (notes []string, err error) {
	saved := false // in the configuration file, where the program finds it by itself
	for _, v := range c.Values() {
		saved = saved || v.Key == "server" && strings.HasPrefix(v.Source, "file ")
	}
	if c.Server == "" {
		if c.IsSet("server") && !saved {
			o.Server = config.NoServer
		}
		return nil, nil
	}
	if !saved {
		o.Server = c.Server
	}
	inEnvironment := a.environment.Variables[install.TokenVariable] != ""
	if client.MCP != nil && client.MCP.Remote != nil && c.Project != "" && inEnvironment {
		b, err := a.open(ctx)
		if err != nil {
			return nil, err
		}
		caller, err := b.Caller(ctx, "", false)
		if err != nil {
			return nil, err
		}
		o.Endpoint = strings.TrimSuffix(c.Server, "/") + "/mcp/p/" + caller.Project.String()
	}
	if inEnvironment || a.token != "" {
		notes = append(notes, "no token is written: start the client with "+install.TokenVariable+" in its environment, or keep the token in "+a.environment.File()+" as token: …")
	}
	return notes, nil
}

// ownPath is the absolute path of this program, as people start it: a link that the next version is put behind stays the same.
func ownPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	self, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if named, err := exec.LookPath(os.Args[0]); err == nil {
		if info, err := os.Stat(named); err == nil && os.SameFile(info, self) { //nolint:gosec // it is only asked whether that is this program
			if absolute, err := filepath.Abs(named); err == nil {
				return absolute, nil
			}
		}
	}
	return path, nil
}

// carryOut shows a plan, asks, and applies it.
func (a *app) carryOut(env install.Environment, plan install.Plan, f installFlags) (installed, error) {
	out := installed{
		Client: plan.Client.ID, Scope: plan.Scope, Changes: []fileChange{}, Notes: append([]string{}, plan.Notes...),
		Rivals: append([]install.Rival{}, plan.Rivals...), Proof: []proved{}, Next: plan.Client.Then,
	}
	for _, e := range plan.Edits {
		out.Changes = append(out.Changes, fileChange{Path: e.Path, What: e.What, Create: !e.Exists, Remove: e.Remove})
	}
	if !a.json {
		p := a.printer()
		p.diff(plan.Diff())
		for _, n := range plan.Notes {
			p.prose("", "Note: "+n)
		}
		p.rivals(plan.Rivals)
	}
	switch {
	case f.dryRun:
		return out, nil
	case !plan.Changes():
		return out, install.Apply(env, plan, time.Now())
	case !f.yes && (!a.interactive || a.json):
		return out, problem.New(problem.Invalid, "", "there is nobody to ask whether these files may be changed", "look at them with --dry-run, and say --yes")
	case !f.yes:
		if ok, err := a.ask("Make these changes?"); err != nil || !ok {
			return out, err
		}
	}
	if err := install.Apply(env, plan, time.Now()); err != nil {
		return out, err
	}
	out.Applied = true
	return out, nil
}

// diff prints a unified diff; lines that come from files are cleaned.
func (p *printer) diff(text string) {
	for l := range strings.Lines(text) {
		l = memory.Plain(strings.TrimRight(l, "\r\n"))
		switch {
		case strings.HasPrefix(l, "+"), strings.HasPrefix(l, "@@"):
			l = p.paint(strong, l)
		case strings.HasPrefix(l, "-"):
			l = p.paint(alarm, l)
		}
		p.line("%s", l)
	}
	if text != "" {
		p.line("")
	}
}

func (p *printer) rivals(rivals []install.Rival) {
	for _, r := range rivals {
		p.prose("", fmt.Sprintf("%s speaks to the agent too (%s). Two memories cost context twice; to switch it off: %s", r.Name, r.File, r.Off))
	}
}

func (p *printer) installed(c install.Client, out installed) {
	switch {
	case len(out.Changes) == 0:
		p.line("%s is set up already.", c.Name)
	case out.Applied:
		p.line("Set up %s.", c.Name)
	}
	for _, proof := range out.Proof {
		mark := "ok   "
		if !proof.OK {
			mark = p.paint(alarm, "FAIL ")
		}
		p.hanging(mark, "     ", memory.Line(proof.What+": "+proof.Saw))
	}
	if out.Applied {
		p.prose("", "Next: "+out.Next+". To undo: stele uninstall "+c.ID+levelFlag(out.Scope))
	}
}

func levelFlag(s install.Scope) string {
	if s == install.Project {
		return " --project-level"
	}
	return ""
}

// listClients says which clients are here, and how they stand.
func (a *app) listClients(ctx context.Context) error {
	_, env, err := a.clientHost(ctx)
	if err != nil {
		return err
	}
	out := []clientState{}
	for _, s := range install.Survey(env) {
		state := clientState{Client: s.Client.ID, Name: s.Client.Name, Detected: s.Detected, At: []clientSeat{}}
		for _, i := range s.At {
			state.At = append(state.At, clientSeat{
				Scope: i.Scope, Files: i.Files, MCP: i.Launch != nil, Hooks: append([]string{}, i.Hooks...), Observe: i.Observe,
				Program: i.Program, Version: i.Version, Missing: i.Missing(env.Search),
			})
		}
		out = append(out, state)
	}
	return a.answer(out, func(p *printer) {
		for _, s := range out {
			p.clientState(s)
		}
		p.line("")
		p.line("Next: stele install CLIENT --dry-run")
	})
}

// clientWidth is where the state of a client begins.
const clientWidth = 14

func (p *printer) clientState(s clientState) {
	told := []string{}
	for _, at := range s.At {
		var parts []string
		if at.MCP {
			parts = append(parts, "MCP")
		}
		if len(at.Hooks) > 0 {
			parts = append(parts, count(len(at.Hooks), "hook"))
		}
		if at.Observe {
			parts = append(parts, "only observing")
		}
		where := "installed"
		if at.Scope == install.Project {
			where = "in this repository"
		}
		if len(parts) > 0 {
			where += " (" + strings.Join(parts, ", ") + ")"
		}
		if at.Missing {
			where += ", but " + at.Program + " is not there: stele install " + s.Client + levelFlag(at.Scope)
		}
		told = append(told, where)
	}
	switch {
	case len(told) == 0 && s.Detected:
		told = append(told, "found, not connected")
	case len(told) == 0:
		told = append(told, p.paint(faint, "not found here"))
	}
	p.hanging(pad(s.Client, clientWidth), strings.Repeat(" ", clientWidth), strings.Join(told, "; "))
}
