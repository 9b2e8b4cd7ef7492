package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Exit codes.
const (
	exitDone   = 0
	exitNo     = 1 // the answer is "no": nothing found where something had to be
	exitFailed = 2 // wrong usage, or it could not be done
)

// errNo ends a command whose answer is "no" and was already printed.
var errNo = errors.New("no")

// run executes one command line and gives its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root() //nolint:contextcheck // commands get their context from cobra, which gets it below
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	command, err := root.ExecuteContextC(ctx)
	if werr := a.out.Flush(); err == nil && werr != nil {
		err = fmt.Errorf("writing the output: %w", werr)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNo):
		return exitNo
	case command.Annotations[failsOpen] != "":
		// A client takes a failure for a veto: what goes wrong here is nobody's reason to stop.
		fmt.Fprintln(a.out, "{}")
		_ = a.out.Flush()
		return exitDone
	}
	p := a.asProblem(ctx, command, err)
	// Flags are read in order, and a wrong one ends that: a script that asked for JSON gets it all the same.
	a.json = a.json || slices.Contains(args, "--json")
	a.report(p)
	if p.Code == problem.NotFound {
		return exitNo
	}
	return exitFailed
}

// usage recognises cobra's errors about a command line; they are texts without a type.
var usage = regexp.MustCompile(`^(unknown (command|flag|shorthand)|flag needs an argument|invalid argument|required flag)`)

// conversion finds the name of the function in Go's errors about numbers.
var conversion = regexp.MustCompile(`: strconv\.\w+: parsing "[^"]*": `)

// asProblem is the one place where errors become what people see.
func (a *app) asProblem(ctx context.Context, command *cobra.Command, err error) *problem.Error {
	if p, ok := problem.As(err); ok {
		return p
	}
	if ctx.Err() != nil {
		return problem.New(problem.Unavailable, "", "interrupted")
	}
	// What is left either comes from cobra, which names the flag or the argument, or is a fault.
	text := conversion.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), ": ")
	if strings.HasPrefix(text, "accepts ") || strings.HasPrefix(text, "requires ") {
		return problem.Invalidf("", "the number of arguments is wrong").Fix("write: %s", command.UseLine()).Fix("see: %s --help", command.CommandPath())
	}
	if usage.MatchString(text) {
		return problem.Invalidf("", "%s", text).Fix("see: %s --help", command.CommandPath())
	}
	return problem.New(problem.Unavailable, "", text, "see what `stele doctor` says")
}

// report prints a problem: as a document for scripts, else as one line, which is wrapped for a person.
func (a *app) report(p *problem.Error) {
	if a.json {
		shape := map[string]any{"error": map[string]any{"code": p.Code, "field": p.Field, "detail": p.Detail, "fixes": p.Fixes}}
		if err := a.printJSON(shape); err == nil {
			return
		}
	}
	line := "stele: " + strings.Join(strings.Fields(memory.Plain(p.Error())), " ")
	if a.interactive {
		// A program reads one line; a person would rather not read words that the edge of the window cut.
		line = strings.Join(wrap(line, a.width-len(indent)), "\n"+indent)
	}
	fmt.Fprintln(a.err, line)
}

// printJSON writes one document, and nothing else goes to standard output.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return a.out.Flush()
}

// answer prints the JSON shape when asked for, else what human writes.
func (a *app) answer(v any, human func(p *printer)) error {
	if a.json {
		return a.printJSON(v)
	}
	p := a.printer()
	human(p)
	return a.out.Flush()
}

const about = `Stele keeps facts about a project's architecture: traps, rules, reasons. Each is
attached to elements of the architecture model, found again by people and
agents, and doubted in words when the code under it moves.`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "stele", Short: "Memory for coding agents, attached to the architecture", Long: about,
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		Example: `  stele init
  stele remember --kind pitfall --element shop.api "Stock is cached 60 s."
  stele recall "why is the stock wrong"`,
		RunE: a.group,
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON document")
	root.PersistentFlags().StringVar(&a.project, "project", "", "project: id, name or identity (default: by repository)")
	root.PersistentFlags().StringVar(&a.server, "server", "", "address of a Stele server; local: the database of this machine")
	root.PersistentFlags().StringVar(&a.token, "token", "", "token for the server; prefer STELE_TOKEN, since command lines are visible")
	root.PersistentFlags().BoolVar(&a.insecure, "insecure", false, "allow plain http to a server on another machine")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupMemories, Title: "Memories:"},
		&cobra.Group{ID: groupModel, Title: "Architecture:"},
		&cobra.Group{ID: groupTeam, Title: "Team:"},
		&cobra.Group{ID: groupSetup, Title: "Set-up:"},
	)
	for _, group := range []struct {
		id       string
		commands []*cobra.Command
	}{
		{groupMemories, []*cobra.Command{
			a.rememberCommand(), a.recallCommand(), a.listCommand(), a.getCommand(), a.confirmCommand(), a.editCommand(), a.forgetCommand(),
			a.restoreCommand(), a.historyCommand(), a.timelineCommand(), a.turnCommand(), a.whyCommand(), a.contextCommand(), a.impactCommand(), a.planCommand(),
			a.mapCommand(), a.statsCommand(), a.exportCommand(), a.importCommand(), a.syncCommand(),
			a.reviewCommand(), a.changesCommand(),
		}},
		{groupModel, []*cobra.Command{a.initCommand(), a.modelCommand(), a.diagramCommand(), a.bindCommand(), a.driftCommand(), a.checkCommand(), a.adrCommand(), a.projectCommand()}},
		{groupTeam, []*cobra.Command{a.sessionCommand(), a.eventsCommand(), a.orgCommand(), a.tokenCommand(), a.auditCommand()}},
		{groupSetup, []*cobra.Command{
			a.needsDatabase(a.setupCommand()), a.needsDatabase(a.serveCommand()), a.openCommand(), a.mcpCommand(), a.installCommand(), a.uninstallCommand(),
			a.needsDatabase(a.dbCommand()), a.needsDatabase(a.keyCommand()),
			a.configCommand(), a.doctorCommand(), a.benchCommand(), a.versionCommand(), a.actionCommand(), completionCommand(),
			a.hookCommand(), a.statuslineCommand(),
		}},
	} {
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", a.width)))
	return root
}

// atDatabase marks a command that works on the database itself.
const atDatabase = "stele/database"

// needsDatabase makes a command and those below it refuse to run when commands go to a server.
func (a *app) needsDatabase(c *cobra.Command) *cobra.Command {
	for _, sub := range c.Commands() {
		a.needsDatabase(sub)
	}
	// The embedded database's own parent obeys whoever started it.
	if c.Hidden || c.HasSubCommands() {
		return c
	}
	c.Annotations = map[string]string{atDatabase: ""}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		config, err := a.load()
		if err == nil && config.Server != "" {
			err = problem.Invalidf("server", "%s works on the database itself, and commands go to a server", cmd.CommandPath()).
				Fix("run it where the database is").Fix("say --server local to leave the server aside")
		}
		if err != nil {
			return err
		}
		return run(cmd, args)
	}
	return c
}

// group runs a command that is only the name of others: it says what they are.
func (a *app) group(c *cobra.Command, _ []string) error {
	if a.json {
		return problem.Invalidf("", "%s does nothing by itself", c.CommandPath()).Fix("name one of its commands: %s --help lists them", c.CommandPath())
	}
	return c.Help()
}

const (
	groupMemories = "memories"
	groupModel    = "model"
	groupTeam     = "team"
	groupSetup    = "setup"
)

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print the completion script of a shell", Args: cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		Example:   `  source <(stele completion bash)`,
		RunE: func(c *cobra.Command, args []string) error {
			out := c.OutOrStdout()
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return c.Root().GenZshCompletion(out)
			case "fish":
				return c.Root().GenFishCompletion(out, true)
			}
			return problem.Invalidf("shell", "%q is not supported", args[0]).Fix("use bash, zsh or fish")
		},
	}
}
