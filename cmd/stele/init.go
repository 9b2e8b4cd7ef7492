package main

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// initiated is what init did.
type initiated struct {
	Project  memory.ProjectInfo  `json:"project"`
	File     string              `json:"file"`             // stele.yaml, "" when none was written
	Source   string              `json:"source,omitempty"` // the model that was found
	Model    *memory.ModelReport `json:"model"`
	Draft    bool                `json:"draft"`   // there is no model, and stele model draft would propose one
	Unbound  []string            `json:"unbound"` // keys of elements of the model that stand for no files yet
	Warnings []string            `json:"warnings"`

	own string // the model, if it is in this repository
}

func (a *app) initCommand() *cobra.Command {
	var noModel, noFile, here bool
	c := &cobra.Command{
		Use: "init [MODEL]", Short: "Make this repository a project: its id, its model", Args: cobra.MaximumNArgs(1),
		Long: "Make a project for this repository, find its architecture model and import it,\n" +
			"and write stele.yaml with the project's id, so that everyone who clones the\n" +
			"repository shares the project of a server. Run again, it changes nothing that\n" +
			"is there. A repository can hold several projects: the nearest stele.yaml says\n" +
			"which one a folder belongs to, and --here begins one.",
		Example: `  stele init
  stele init docs/architecture/workspace.dsl --no-file
  cd services/till && stele init --here`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			b, err := a.open(ctx)
			if err != nil {
				return err
			}
			if b.place.unclear != nil && a.project == "" && b.config.Project == "" {
				return b.place.unclear
			}
			if b.place.checkout == nil && a.project == "" && b.config.Project == "" {
				return problem.Invalidf("", "this folder is in no git repository").
					Fix("run git init first, or name the project: stele --project NAME init")
			}
			if here {
				if err := b.place.begin(); err != nil {
					return err
				}
			}
			c, err := b.callerMaking(ctx, "", true) // on a server, too
			if err != nil {
				return err
			}
			done := initiated{Unbound: []string{}, Warnings: []string{}}
			if done.Project, err = b.FindProject(ctx, c, c.Project.String()); err != nil {
				return err
			}
			model := ""
			if len(args) == 1 {
				model = args[0]
			}
			if !noModel {
				if err := a.initModel(ctx, b, c, model, &done); err != nil {
					return err
				}
			}
			if !noFile && b.place.checkout != nil {
				if done.File, err = writeRepositoryFile(b.place, done.Project.ID, done.own); err != nil {
					return err
				}
			}
			if done.own != "" {
				w, err := b.place.openBindings(ctx, filepath.Join(b.place.root(), filepath.FromSlash(done.own)))
				if err != nil {
					return err
				}
				done.Unbound = w.unbound()
			}
			return a.answer(done, func(p *printer) { p.initiated(done) })
		},
	}
	c.Flags().BoolVar(&noModel, "no-model", false, "look for no model")
	c.Flags().BoolVar(&noFile, "no-file", false, "write no stele.yaml")
	c.Flags().BoolVar(&here, "here", false, "make this folder of the repository a project of its own")
	c.MarkFlagsMutuallyExclusive("here", "no-file")
	return c
}

// begin makes the working folder the place of a project of its own.
func (p *place) begin() (err error) {
	if p.checkout == nil {
		return problem.Invalidf("here", "this folder is in no git repository").Fix("leave --here out")
	}
	inside, err := filepath.Rel(p.checkout.Root, p.dir)
	if err != nil || !filepath.IsLocal(inside) {
		return problem.Invalidf("here", "%s is not in the repository", p.dir).Fix("leave --here out").Because(err)
	}
	p.folder = ""
	if inside != "." {
		p.folder = filepath.ToSlash(inside)
	}
	p.file, _, err = config.ReadRepository(p.home())
	return err
}

// initModel finds the model and imports it; without one a project is still of use.
func (a *app) initModel(ctx context.Context, b *backend, c memory.Caller, name string, done *initiated) error {
	named := name != ""
	if !named {
		name = b.place.home()
		if b.place.file.Model != "" {
			name = filepath.Join(name, filepath.FromSlash(b.place.file.Model))
		}
	}
	source, err := formats.Find(ctx, name)
	if p, ok := problem.As(err); ok && !named {
		if done.Draft = p.Code == problem.NotFound; !done.Draft {
			done.Warnings = append(done.Warnings, "no model was imported: "+p.Error())
		}
		return nil
	}
	if err != nil {
		return err
	}
	agreed, err := a.askUnlessPiped(fmt.Sprintf("Import the model %s (%s)?", source.File, source.Format))
	if err != nil || !agreed {
		return err
	}
	report, err := b.importModel(ctx, c, filepath.Join(source.Root, filepath.FromSlash(source.File)), false)
	if err != nil {
		return err
	}
	done.Source, done.Model = source.File, &report
	if b.place.checkout != nil && source.Root == b.place.root() {
		done.own = source.File
	}
	return nil
}

// writeRepositoryFile makes stele.yaml, or adds what is missing in it. It holds an id and a path, nothing about this machine.
func writeRepositoryFile(p *place, project uuid.UUID, model string) (string, error) {
	if model != "" {
		inside, err := filepath.Rel(filepath.FromSlash(p.folder), filepath.FromSlash(model))
		if model = filepath.ToSlash(inside); err != nil || !filepath.IsLocal(inside) {
			model = "" // it lies outside the project, and is found by whoever names it
		}
	}
	if p.file.Project != uuid.Nil && (model == "" || p.file.Model != "") {
		return "", nil
	}
	changed, err := config.EditRepository(p.home(), func(text []byte) (_ []byte, err error) {
		if text == nil {
			text = []byte("# What this repository says to Stele: ids and globs only.\n")
		}
		if p.file.Project == uuid.Nil {
			if text, err = config.SetProject(text, project); err != nil {
				return nil, err
			}
		}
		if p.file.Model == "" && model != "" {
			return config.SetModel(text, model)
		}
		return text, nil
	})
	if known, ok := problem.As(err); ok {
		err = known.Fix("or say --no-file")
	}
	if err != nil || !changed {
		return "", err
	}
	return p.settings(), nil
}

func (p *printer) initiated(done initiated) {
	p.line("Project %s  %s", p.paint(strong, memory.Line(done.Project.Name)), done.Project.ID)
	if done.Model != nil {
		p.modelReport(*done.Model, false)
	}
	if done.File != "" {
		p.line("Wrote %s; commit it", done.File)
	}
	p.warnings(done.Warnings)
	p.line("")
	switch {
	case done.Draft:
		p.line("There is no architecture model. Next: stele model draft proposes one")
	case len(done.Unbound) > 0:
		p.unbound("stand for no files yet", done.Unbound)
		p.line("Next: stele bind suggest")
	default:
		p.line("Next: stele map")
	}
}

// ask puts a question to a person; without one the answer is no.
func (a *app) ask(question string) (bool, error) {
	if !a.interactive || a.json {
		return false, nil
	}
	if err := a.out.Flush(); err != nil {
		return false, fmt.Errorf("writing the question: %w", err)
	}
	fmt.Fprint(a.err, question+" [y/N] ")
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return false, nil // the input ended: nobody agreed
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// askUnlessPiped asks where there is a person; a script that runs the command has already said what it wants.
func (a *app) askUnlessPiped(question string) (bool, error) {
	if !a.interactive || a.json {
		return true, nil
	}
	return a.ask(question)
}

func (a *app) projectCommand() *cobra.Command {
	c := &cobra.Command{Use: "project", Short: "List and make projects", Args: cobra.NoArgs, Example: "  stele project list",
		RunE: a.group}
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the projects, and what each is known by", Args: cobra.NoArgs, Example: "  stele project list --json",
			RunE: func(cmd *cobra.Command, _ []string) error {
				b, err := a.open(cmd.Context())
				if err != nil {
					return err
				}
				projects, err := b.Projects(cmd.Context(), b.caller())
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"projects": projects}, func(p *printer) {
					for _, project := range projects {
						p.line("%s  %s", project.ID, p.paint(strong, memory.Line(project.Name)))
						if project.WithoutOrganization {
							p.line("%swithout the organization's memories", indent)
						}
						for _, identity := range project.Identities {
							p.line("%s%s", indent, memory.Line(identity))
						}
					}
					if len(projects) == 0 {
						p.line("no project yet: stele init makes one of this repository")
					}
				})
			},
		},
		&cobra.Command{
			Use: "create NAME", Short: "Make a project", Args: cobra.ExactArgs(1), Example: "  stele project create shop",
			RunE: func(cmd *cobra.Command, args []string) error {
				b, err := a.open(cmd.Context())
				if err != nil {
					return err
				}
				project, err := b.CreateProject(cmd.Context(), b.caller(), args[0], nil)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"project": project}, func(p *printer) {
					p.line("Made project %s  %s", p.paint(strong, memory.Line(project.Name)), project.ID)
				})
			},
		},
		a.projectSettingsCommand(),
	)
	return c
}
