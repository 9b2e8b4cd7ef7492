package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/hook/wire"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/transcript"
)

// failsOpen marks a command whose failure must stop nobody.
const failsOpen = "stele/fails-open"

// stateDir is $XDG_STATE_HOME/stele or ~/.local/state/stele, on Windows beside the cache; "" without a home.
func stateDir(e config.Environment) string {
	if dir := e.Variables["XDG_STATE_HOME"]; filepath.IsAbs(dir) { // the specification says to ignore relative paths
		return filepath.Join(dir, "stele")
	}
	if runtime.GOOS == "windows" {
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, "stele", "state")
		}
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "stele")
}

// hooks is what hooks keep on this machine.
func (a *app) hooks() local.Folder {
	if a.stateDir == "" {
		return ""
	}
	return local.Folder(filepath.Join(a.stateDir, "hooks"))
}

// hookFlags are settings that a client's own configuration carries in the command that it runs.
type hookFlags struct {
	observe, commands bool
	guard             string
}

func (a *app) hookCommand() *cobra.Command {
	var f hookFlags
	c := &cobra.Command{
		Use: "hook CLIENT EVENT", Short: "Answer an event of an agent's client", Args: cobra.ArbitraryArgs,
		Long: "Read an event of an agent's client on standard input, and answer with what is to\n" +
			"be put before the model. Clients call it; stele install tells them to. It never\n" +
			"fails: whatever is wrong, the answer is {} and the exit code 0, and the log says\n" +
			"why: stele hook log.\n\n" +
			"Clients are " + listOf(wire.Clients) + "; events are\n" + strings.Join(wire.Names[:4], ", ") + ",\n" + strings.Join(wire.Names[4:], ", ") + ".",
		Example:            "  stele hook claude-code SessionStart\n  stele hook log --since 2d",
		Annotations:        map[string]string{failsOpen: "yes"},
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.group(cmd, args)
			}
			a.answerHook(cmd.Context(), f, args)
			return nil
		},
	}
	c.Flags().BoolVar(&f.observe, "observe", false, "log what would be put before the model, and put nothing")
	c.Flags().BoolVar(&f.commands, "no-mcp", false, "name commands in what is put there: the client has no tools of Stele")
	c.Flags().StringVar(&f.guard, "guard", "", "ask: have the client ask before an edit where another session works alone")
	c.AddCommand(a.hookLogCommand(), a.hookSyncCommand(), &cobra.Command{
		Use: "wake", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := a.open(cmd.Context()) // starts the database, makes it, or migrates it
			return err
		},
	})
	return c
}

func listOf(clients []wire.Client) string {
	var out []string
	for _, c := range clients {
		out = append(out, string(c))
	}
	return strings.Join(out, " and ")
}

// Bounds of a hook. A client waits for it.
const (
	hookLimit    = 5 * time.Second
	hookGrace    = 200 * time.Millisecond
	payloadLimit = time.Second      // of silence on the pipe that brings an event
	downFor      = 20 * time.Second // after a server did not answer, it is not asked again
	wakeAgain    = 30 * time.Second
	treePatience = 500 * time.Millisecond
)

// answerHook answers in any case, and in time.
func (a *app) answerHook(ctx context.Context, f hookFlags, args []string) {
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	answered := make(chan []byte, 1)
	go func() {
		t := &telling{app: a, flags: f, entry: local.Entry{At: time.Now().UTC(), Client: args[0], Outcome: local.Untold}, out: []byte("{}")}
		defer func() {
			if recover() != nil {
				t.entry.Outcome, t.entry.Reason, t.out = local.Untold, "fault", []byte("{}")
			}
			t.log()
			answered <- t.out
		}()
		if len(args) != 2 { //nolint:mnd // client and event
			t.entry.Reason = "arguments"
			return
		}
		t.client, t.name, t.entry.Event = wire.Client(args[0]), args[1], args[1]
		t.run(ctx)
	}()
	out := []byte("{}")
	select {
	case out = <-answered:
	case <-time.After(hookLimit + hookGrace): // something does not heed its context; the process ends with it
	}
	_, _ = a.out.Write(append(out, '\n'))
}

// telling is one event on its way from a client to the service.
type telling struct {
	*app

	client wire.Client
	name   string
	flags  hookFlags
	config config.Config
	event  hook.Event
	told   wire.Payload
	state  local.State
	entry  local.Entry
	out    []byte
	// conversation is what was read of it; of an end, a model may be asked about it.
	conversation transcript.Conversation
	silent       bool // nothing happened that a log should tell
}

// log notes what came of it.
func (t *telling) log() {
	if t.silent {
		return
	}
	known := slices.Contains(wire.Clients, wire.Client(t.entry.Client))
	if !known {
		t.entry.Client = "unknown" // the words of a command line are no text for a log
	}
	if !slices.Contains(wire.Names, t.entry.Event) {
		t.entry.Event = "unknown"
	}
	t.entry.Milliseconds = time.Since(t.entry.At).Milliseconds()
	_ = t.hooks().Log(t.entry) // a log that cannot be written stops nobody
}

func (t *telling) run(ctx context.Context) {
	var err error
	if t.config, err = t.load(); err != nil {
		t.entry.Reason = "settings"
		return
	}
	t.config.HookObserve = t.config.HookObserve || config.Switch(t.flags.observe)
	t.config.HookCommands = t.config.HookCommands || config.Switch(t.flags.commands)
	if t.flags.guard != "" {
		t.config.Guard = t.flags.guard
	}
	if !t.config.Hooks {
		t.silent = true
		return
	}
	var ok bool
	if t.event, ok = wire.EventOf(t.client, t.name); !ok {
		t.entry.Reason = "event"
		return
	}
	t.out = wire.Answer(t.client, t.name, hook.Response{})
	if t.told, err = t.payload(ctx); err != nil || t.told.Session == "" {
		t.out, t.entry.Reason = []byte("{}"), "payload"
		return
	}
	if t.event == hook.AfterEdit {
		// Nobody waits for this one: the next event tells of it.
		if err := t.hooks().Edited(t.told.Session, t.told.Files); err != nil {
			t.entry.Reason = "state"
			return
		}
		t.silent = true
		return
	}
	if t.event == hook.BeforeEdit && len(t.told.Files) == 0 {
		t.silent = true
		return
	}
	t.state = t.hooks().State(t.told.Session)
	response, err := t.tell(ctx)
	if err != nil {
		t.missed(ctx, err)
		return
	}
	t.answer(response)
}

// payload reads what the client says, within a second.
func (t *telling) payload(ctx context.Context) (wire.Payload, error) {
	type reading struct {
		payload wire.Payload
		err     error
	}
	read, silent := make(chan reading, 1), make(chan struct{}, 1)
	go func() { // ends with the input, at the latest with the process
		p, err := wire.Read(hearing{t.in, silent})
		read <- reading{p, err}
	}()
	select {
	case r := <-read:
		return r.payload, r.err
	case <-silent:
		return wire.Payload{}, wire.ErrBroken
	case <-ctx.Done():
		return wire.Payload{}, ctx.Err()
	}
}

// hearing says when the other side of a pipe was silent for payloadLimit. Taking a large payload apart may take longer; that is no silence.
type hearing struct {
	in     io.Reader
	silent chan<- struct{}
}

func (h hearing) Read(b []byte) (int, error) {
	timer := time.AfterFunc(payloadLimit, func() {
		select {
		case h.silent <- struct{}{}:
		default:
		}
	})
	defer timer.Stop()
	return h.in.Read(b)
}

// folderOf is the folder that an event is about, symbolic links resolved.
func (t *telling) folderOf() (string, error) {
	if dir := t.told.Folder; filepath.IsAbs(dir) {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			return target, nil
		}
	}
	return t.folder()
}

// tell brings the event to the service.
func (t *telling) tell(ctx context.Context) (hook.Response, error) {
	dir, err := t.folderOf()
	if err != nil {
		return hook.Response{}, err
	}
	r := hook.Request{
		Event: t.event, Conversation: t.told.Session, Source: t.told.Source, Prompt: t.told.Prompt, Guard: t.config.Guard == config.GuardAsk,
		Observe: bool(t.config.HookObserve), Propose: bool(t.config.HookCandidates), Commands: bool(t.config.HookCommands),
	}
	edited, remembers, end := t.read(&r)
	server := t.config.Server
	if server != "" && t.hooks().Lately("down "+server, downFor) {
		return hook.Response{}, errDown
	}
	for fresh := false; ; fresh = true {
		reached, err := t.reach(ctx, t.config, dir, remembers, fresh)
		if err != nil {
			return hook.Response{}, err
		}
		t.summarize(ctx, reached.place, &r)
		response, err := t.tellTo(ctx, reached, r, edited)
		if t.unsummarize(err, &r) {
			response, err = t.tellTo(ctx, reached, r, edited)
		}
		if err == nil {
			t.readUpTo(end)
			reached.remember(ctx)
			t.syncKept(reached.caller.Project)
			if response.Standing.Elements > 0 {
				_ = t.hooks().KeepStanding(standingOf(reached.place), response.Standing) // it is told again
			}
		}
		reached.close()
		// What was kept of the place may hold no more: the project was erased, the token changed.
		if err == nil || !reached.cached || problem.Is(err, problem.Unavailable) || ctx.Err() != nil {
			return response, err
		}
	}
}

// errDown is a server that did not answer a moment ago.
var errDown = problem.New(problem.Unavailable, "server", "the server did not answer a moment ago")

// standingOf names a place for the line of status.
func standingOf(p *place) string { return p.root() + "//" + p.folder }

// read adds what the conversation says. It gives the files that it edited, whether there is something to remember, and where it ended.
func (t *telling) read(r *hook.Request) (edited []string, remembers bool, end int64) {
	if t.event != hook.Start && t.event != hook.Pause && t.event != hook.End || t.told.Transcript == "" {
		return nil, false, 0
	}
	if t.event == hook.Start {
		r.Continues = transcript.Earlier(t.told.Transcript, t.told.Session)
		return nil, false, 0
	}
	c, err := transcript.Read(t.told.Transcript, t.told.Session, t.state.Read[t.told.Transcript])
	if err != nil {
		return nil, false, 0
	}
	t.conversation = c
	r.Said, r.Asked = c.Said, c.Request
	r.Anchor = &memory.Anchor{Client: string(t.client), Session: t.told.Session, Turn: c.Turn, Transcript: t.told.Transcript}
	if r.Anchor.Check() != nil {
		r.Anchor = nil
	}
	if t.told.Agent == "" && t.name != wire.SubagentStop {
		r.Progress = &hook.Progress{Asked: ends(c.Asked), Answer: c.Answer, Failed: c.Failed, Worked: c.Worked}
	}
	return c.Edited, c.Worked, c.End
}

// ends are the first and the last of a list.
func ends(list []string) []string {
	if len(list) <= 2 { //nolint:mnd // both
		return list
	}
	return []string{list[0], list[len(list)-1]}
}

func (t *telling) readUpTo(end int64) {
	if t.event == hook.End {
		t.hooks().Forget(t.told.Session)
		t.hooks().Tidy()
		return
	}
	changed := t.state.Missed != nil
	t.state.Missed = nil
	if end > 0 && t.state.Read[t.told.Transcript] != end {
		if len(t.state.Read) > 100 { //nolint:mnd // agents that one conversation called; those long ago have nothing new to say
			clear(t.state.Read)
		}
		t.state.Read[t.told.Transcript] = end
		changed = true
	}
	if changed {
		_ = t.hooks().Keep(t.told.Session, t.state) // it is read again, and nothing is kept twice
	}
}

// tellTo tells one service, first of a start that was missed.
func (t *telling) tellTo(ctx context.Context, to *hookReach, r hook.Request, edited []string) (hook.Response, error) {
	c := to.caller
	c.Agent, c.Session, c.Door = string(t.client), t.told.Session, memory.FromHook
	r.Worktree = to.place.worktree()
	for _, f := range t.told.Files {
		r.Paths = append(r.Paths, inside(to.place, f))
	}
	if t.event != hook.BeforeEdit && t.event != hook.Prompt {
		r.Seen = to.place.look(ctx)
		if r.Seen != nil {
			r.Seen.TreeOf = func(ctx context.Context, patterns []string) string {
				ctx, cancel := context.WithTimeout(ctx, treePatience)
				defer cancel()
				return to.place.treeOf(ctx, patterns)
			}
		}
	}
	spooled, done := t.hooks().Take(t.told.Session)
	told := false
	defer func() { done(told) }()
	for _, f := range slices.Concat(spooled, edited) {
		if f = inside(to.place, f); !slices.Contains(r.Edited, f) && len(r.Edited) < hook.MaxPaths {
			r.Edited = append(r.Edited, f)
		}
	}
	before := hook.Response{}
	if m := t.state.Missed; m != nil && t.event != hook.Start && t.event != hook.End {
		start := hook.Request{Event: hook.Start, Conversation: r.Conversation, Worktree: r.Worktree, Source: m.Source, Continues: m.Continues, Observe: r.Observe, Commands: r.Commands}
		var err error
		if before, err = to.Hook(ctx, c, start); err != nil {
			return before, err
		}
	}
	response, err := to.Hook(ctx, c, r)
	told = err == nil
	if before.Context != "" {
		response.Context = strings.TrimRight(before.Context+"\n"+response.Context, "\n") + "\n"
		response.Shown = slices.Concat(before.Shown, response.Shown)
	}
	if response.Standing == (hook.Standing{}) {
		response.Standing = before.Standing
	}
	return response, err
}

// inside is a file as memories name it: from the root of the repository. One that lies elsewhere stays as it was named.
func inside(p *place, name string) string {
	if filepath.IsAbs(name) {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
			name = filepath.Join(dir, filepath.Base(name))
		}
	}
	return p.relative(name)
}

// answer is what the client is told.
func (t *telling) answer(r hook.Response) {
	t.entry.Outcome, t.entry.Session, t.entry.Memory = local.Told, r.SessionID, r.Outcome
	t.entry.Cited, t.entry.Candidates = r.Cited, r.Candidates
	t.entry.Tokens = memory.Tokens(r.Context)
	t.entry.Handles = handlesOf(r)
	if t.config.HookObserve {
		t.entry.Outcome = local.Observed
		r.Context, r.Ask, r.Notice = "", "", ""
	}
	t.out = wire.Answer(t.client, t.name, r)
}

// handlesOf are the memories that an answer shows: a briefing names its own in its text.
func handlesOf(r hook.Response) []string {
	var out []string
	for _, s := range r.Shown {
		out = append(out, s.Handle)
	}
	for _, h := range regexp.MustCompile(`\bm-[a-z2-7]{7}\b`).FindAllString(r.Context, -1) {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// missed notes why nobody could be told, and does what helps the next event.
func (t *telling) missed(ctx context.Context, err error) {
	switch p, known := problem.As(err); {
	case errors.Is(err, errOutside):
		t.entry.Outcome = local.Outside
		return
	case errors.Is(err, errAsleep):
		t.entry.Reason = "asleep"
		t.wake()
	case errors.Is(err, errDown):
		t.entry.Reason = "down"
	case ctx.Err() != nil:
		t.entry.Reason = "time"
	case known:
		t.entry.Reason = string(p.Code)
		if p.Code == problem.Unavailable && t.config.Server != "" {
			t.hooks().Mark("down " + t.config.Server)
		}
		if p.Code == problem.Unavailable && t.config.Server == "" {
			t.wake() // it may have to be migrated
		}
	default:
		t.entry.Reason = "fault"
	}
	if t.event == hook.Start {
		r := hook.Request{}
		t.read(&r)
		t.state.Missed = &local.Missed{Source: t.told.Source, Continues: r.Continues}
		_ = t.hooks().Keep(t.told.Session, t.state) // the first prompt begins the session all the same
	}
}

// wake starts the database for the next event, by a process of its own: nobody waits for it.
func (t *telling) wake() {
	if t.detached == nil || t.config.Server != "" || t.hooks().Lately("wake", wakeAgain) {
		return
	}
	t.hooks().Mark("wake")
	if t.detached("hook", "wake") != nil {
		t.entry.Reason += ", and cannot be started"
	}
}

// runDetached runs this program in a process that outlives this one.
func runDetached(args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...) //nolint:noctx // nobody waits for it
	embedded.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// drain reads what a client writes to a command that does not need it, so that the client can go on.
func drain(in io.Reader) {
	done := make(chan struct{})
	go func() { // ends with the input, at the latest with the process
		_, _ = wire.Read(in)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(wakeful):
	}
}

// standingLine is the line of status.
func standingLine(s hook.Standing) string {
	if s.Elements == 0 {
		return "stele"
	}
	line := fmt.Sprintf("stele %d/%d", s.Documented, s.Elements)
	if s.Doubted > 0 {
		line += fmt.Sprintf(" · %d in doubt", s.Doubted)
	}
	return line
}
