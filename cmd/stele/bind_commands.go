package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/bind"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// likely is the confidence from which suggestions are accepted unseen.
const likely = 0.9

func (a *app) bindCommand() *cobra.Command {
	c := &cobra.Command{Use: "bind", Short: "Say which files each element stands for", Args: cobra.NoArgs,
		Long: "Bindings are kept in stele.yaml, which is committed with the code, or in the\n" +
			"model. These commands need no server and no database.",
		Example: "  stele bind suggest\n  stele bind accept", RunE: a.group}
	c.AddCommand(a.bindSuggestCommand(), a.bindAcceptCommand(), a.bindSetCommand(), a.bindNoneCommand(), a.bindListCommand())
	return c
}

// modelFlag names the model where it is not the one of the project.
func modelFlag(c *cobra.Command, model *string) {
	c.Flags().StringVar(model, "model", "", "file or folder of the model (default: as stele.yaml says, else the only one)")
}

// suggested is what names propose.
type suggested struct {
	Model       string            `json:"model"` // its file, relative to the root of the repository
	File        string            `json:"file"`  // stele.yaml, likewise
	Suggestions []bind.Suggestion `json:"suggestions"`
	Unbound     []string          `json:"unbound"` // keys of elements that stand for no files and get no suggestion
}

func (a *app) bindSuggestCommand() *cobra.Command {
	var model string
	var least float64
	var patch bool
	c := &cobra.Command{
		Use: "suggest [ELEMENT…]", Short: "Propose files for elements that have none, by their names",
		Long: "Compare the names of unbound elements with folders, files, manifests, services\n" +
			"of compose files and titles of readmes. Only what is unique is proposed. Most\n" +
			"suggestions of confidence 0.9 and more are right: 14 of 17 on models that the\n" +
			"rules had not seen. Read them before you commit.",
		Example: "  stele bind suggest\n  stele bind suggest --patch --min-confidence 0.9 | git apply",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkConfidence(least); err != nil {
				return err
			}
			w, err := a.openBindings(cmd.Context(), model)
			if err != nil {
				return err
			}
			out, err := w.suggest(cmd.Context(), args, least)
			if err != nil {
				return err
			}
			if patch {
				return a.printPatch(w, out.Suggestions)
			}
			return a.answer(out, func(p *printer) { p.suggested(out) })
		},
	}
	modelFlag(c, &model)
	c.Flags().Float64Var(&least, "min-confidence", 0, "leave out what is less sure (0 to 1)")
	c.Flags().BoolVar(&patch, "patch", false, "print the change of stele.yaml as a diff")
	return c
}

// accepted is what was written down.
type accepted struct {
	File     string            `json:"file"`    // stele.yaml; "" when it was not to be written
	Changed  bool              `json:"changed"` // it was written
	Accepted []bind.Suggestion `json:"accepted"`
	Left     []bind.Suggestion `json:"left"` // less sure, or declined
}

func (a *app) bindAcceptCommand() *cobra.Command {
	var model, to string
	var least float64
	c := &cobra.Command{
		Use: "accept [ELEMENT…]", Short: "Write suggestions into stele.yaml",
		Long: "Write the suggestions of at least --min-confidence into stele.yaml, and\n" +
			"those of named elements whatever their confidence. On a terminal each is shown\n" +
			"and asked about.",
		Example: "  stele bind accept\n  stele bind accept shop.api\n  stele bind accept --to dsl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkConfidence(least); err != nil {
				return err
			}
			if to != "" && to != "dsl" {
				return problem.Invalidf("to", "%q is nowhere to write to", to).Fix("say --to dsl, or leave it out to write stele.yaml")
			}
			if len(args) > 0 && !cmd.Flags().Changed("min-confidence") {
				least = 0
			}
			w, err := a.openBindings(cmd.Context(), model)
			if err != nil {
				return err
			}
			all, err := w.suggest(cmd.Context(), args, 0)
			if err != nil {
				return err
			}
			out := accepted{Accepted: []bind.Suggestion{}, Left: []bind.Suggestion{}}
			for _, g := range all.Suggestions {
				if g.Confidence >= least {
					out.Accepted = append(out.Accepted, g)
				} else {
					out.Left = append(out.Left, g)
				}
			}
			for _, key := range all.Unbound {
				if len(args) > 0 {
					return problem.New(problem.NotFound, "element", "nothing is named like "+memory.Line(key), "bind it by hand: stele bind set "+quoteName(key)+" GLOB")
				}
			}
			if err := a.choose(&out); err != nil {
				return err
			}
			if to == "dsl" {
				lines, err := w.propertyLines(out.Accepted)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"lines": lines, "accepted": out.Accepted, "left": out.Left}, func(p *printer) {
					for _, line := range lines {
						p.line("%s", memory.Plain(line))
					}
				})
			}
			out.File = w.place.settings()
			if out.Changed, err = config.EditRepository(w.place.home(), adding(out.Accepted)); err != nil {
				return err
			}
			return a.answer(out, func(p *printer) { p.accepted(out) })
		},
	}
	modelFlag(c, &model)
	c.Flags().Float64Var(&least, "min-confidence", likely, "accept what is at least as sure (0 to 1)")
	c.Flags().StringVar(&to, "to", "", "dsl: print the lines for the model instead of writing stele.yaml")
	return c
}

func checkConfidence(c float64) error {
	if !(c >= 0 && c <= 1) {
		return problem.Invalidf("min-confidence", "%v is no confidence", c).Fix("give a number from 0 to 1")
	}
	return nil
}

// adding is the change of a stele.yaml that accepts suggestions.
func adding(suggestions []bind.Suggestion) func(text []byte) ([]byte, error) {
	return func(text []byte) (_ []byte, err error) {
		for _, g := range suggestions {
			if text, err = config.AddBinding(text, g.Element, g.Pattern); err != nil {
				return nil, err
			}
		}
		return text, nil
	}
}

// choose asks a person about each suggestion; without one all stay.
func (a *app) choose(out *accepted) error {
	if !a.interactive || a.json {
		return nil
	}
	in := bufio.NewReader(a.in)
	chosen := []bind.Suggestion{}
	for n, g := range out.Accepted {
		p := a.printer()
		p.suggestion(g)
		if err := a.out.Flush(); err != nil {
			return fmt.Errorf("writing the question: %w", err)
		}
		fmt.Fprintf(a.err, "Bind it? [y]es, [n]o, [a]ll that follow, [q]uit asking (%d of %d) ", n+1, len(out.Accepted))
		line, err := in.ReadString('\n')
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return fmt.Errorf("reading the answer: %w", err)
		}
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case answer == "y" || answer == "yes":
			chosen = append(chosen, g)
		case answer == "a" || answer == "all":
			out.Accepted = append(chosen, out.Accepted[n:]...)
			return nil
		case answer == "q" || answer == "quit" || ended:
			out.Left = append(out.Left, out.Accepted[n:]...)
			out.Accepted = chosen
			return nil
		default:
			out.Left = append(out.Left, g)
		}
	}
	out.Accepted = chosen
	return nil
}

// printPatch prints what accepting would change, as git shows it.
func (a *app) printPatch(w *bindings, suggestions []bind.Suggestion) error {
	before, err := os.ReadFile(filepath.Join(w.place.home(), config.RepositoryFile)) // nil where there is none
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return problem.New(problem.Unavailable, w.place.settings(), "the file cannot be read", "make it readable").Because(err)
	}
	after, err := adding(suggestions)(before)
	if err != nil {
		return err
	}
	name := w.place.settings()
	text := string(report.Unified(name, before, after))
	return a.answer(map[string]any{"file": name, "patch": text}, func(p *printer) { fmt.Fprint(p.w, text) })
}

func (a *app) bindSetCommand() *cobra.Command {
	var model string
	c := &cobra.Command{
		Use: "set ELEMENT GLOB…", Short: "Bind an element to files, in the place of what stele.yaml said", Args: cobra.MinimumNArgs(2),
		Long: "Globs are those of .gitignore, relative to the folder of stele.yaml; put them in\n" +
			"quotes, or the shell reads them. Paths in the model stay as they are.",
		Example: "  stele bind set shop.api 'services/api/**' 'libs/api-types/**'",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.openBindings(cmd.Context(), model)
			if err != nil {
				return err
			}
			e, err := w.element(args[0])
			if err != nil {
				return err
			}
			out := boundElement{Element: e.Key, Patterns: []boundPattern{}, File: w.place.settings(), Warnings: []string{}}
			if !e.InScope() {
				out.Warnings = append(out.Warnings, e.Key+" is out of scope (a person, or tagged external, future, planned or legacy), so its files are not looked at")
			}
			for _, glob := range args[1:] {
				pattern, err := c4model.NormalizePattern(glob)
				if err != nil {
					return err
				}
				files := w.covered(c4model.Rooted(w.place.folder, pattern))
				if files == 0 {
					out.Warnings = append(out.Warnings, fmt.Sprintf("no tracked file matches %s", glob))
				}
				out.Patterns = append(out.Patterns, boundPattern{glob, files})
			}
			if out.Changed, err = config.EditRepository(w.place.home(), func(text []byte) ([]byte, error) { return config.SetBinding(text, e.Key, args[1:]...) }); err != nil {
				return err
			}
			return a.answer(out, func(p *printer) { p.boundElement(out) })
		},
	}
	modelFlag(c, &model)
	return c
}

// boundElement is what stele.yaml says of an element now.
type boundElement struct {
	Element  string         `json:"element"`
	Patterns []boundPattern `json:"patterns"`
	Reason   string         `json:"reason,omitempty"` // why it has no code here
	File     string         `json:"file"`             // stele.yaml, relative to the root of the repository
	Changed  bool           `json:"changed"`          // it was written
	Warnings []string       `json:"warnings"`
}

type boundPattern struct {
	Pattern string `json:"pattern"`
	Files   int    `json:"files"` // tracked files that it covers
}

func (a *app) bindNoneCommand() *cobra.Command {
	var model string
	c := &cobra.Command{
		Use: "none ELEMENT REASON", Short: "Say that an element has no code here, and why", Args: cobra.MinimumNArgs(2),
		Long:    "An element without code is neither scored nor counted as unbound. What\nstele.yaml bound it to goes.",
		Example: "  stele bind none shop.database \"a hosted service\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.openBindings(cmd.Context(), model)
			if err != nil {
				return err
			}
			e, err := w.element(args[0])
			if err != nil {
				return err
			}
			out := boundElement{Element: e.Key, Patterns: []boundPattern{}, File: w.place.settings(), Warnings: []string{}}
			out.Reason = strings.Join(strings.Fields(strings.Join(args[1:], " ")), " ")
			for _, b := range w.bound {
				if b.Element == e.Key && b.Source != config.RepositoryFile {
					out.Warnings = append(out.Warnings, fmt.Sprintf("the model still names %s (%s)", b.Pattern, b.Source))
				}
			}
			if out.Changed, err = config.EditRepository(w.place.home(), func(text []byte) ([]byte, error) { return config.AddNone(text, e.Key, out.Reason) }); err != nil {
				return err
			}
			return a.answer(out, func(p *printer) { p.boundElement(out) })
		},
	}
	modelFlag(c, &model)
	return c
}

func (a *app) bindListCommand() *cobra.Command {
	var model string
	c := &cobra.Command{
		Use: "list", Short: "List what each element is bound to, and what is bound twice", Args: cobra.NoArgs, Example: "  stele bind list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := a.openBindings(cmd.Context(), model)
			if err != nil {
				return err
			}
			out := w.list()
			return a.answer(out, func(p *printer) { p.bindingList(out) })
		},
	}
	modelFlag(c, &model)
	return c
}

// propertyLines are what the model would say, element by element, in its format.
func (w *bindings) propertyLines(suggestions []bind.Suggestion) ([]string, error) {
	var open, line string
	switch strings.ToLower(path.Ext(w.modelFile)) {
	case ".dsl":
		open, line = "properties {", `    path "%s"`
	case ".c4", ".likec4":
		open, line = "metadata {", `    path '%s'`
	default:
		return nil, problem.Invalidf("to", "%s has no place for paths that can be printed", w.modelFile).Fix("leave --to out, and stele.yaml is written")
	}
	out := []string{}
	for _, g := range suggestions {
		e, err := w.element(g.Element)
		if err != nil {
			return nil, err
		}
		pattern := c4model.Rooted(w.place.folder, g.Pattern)
		if strings.ContainsAny(pattern, "\"'\n") {
			return nil, problem.Invalidf("to", "%s cannot be written in the model", pattern).Fix("leave --to out, and stele.yaml is written")
		}
		out = append(out, fmt.Sprintf("// %s: in its braces, %s", e.Key, strings.TrimSuffix(e.Source.String(), ": ")), open, fmt.Sprintf(line, pattern), "}")
	}
	return out, nil
}

func (a *app) openBindings(ctx context.Context, model string) (*bindings, error) {
	dir, err := a.folder()
	if err != nil {
		return nil, err
	}
	return openBindings(ctx, dir, model)
}
