package main

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

func (a *app) orgCommand() *cobra.Command {
	c := &cobra.Command{Use: "org", Short: "Make and show organizations, which know nothing of each other", Args: cobra.NoArgs,
		Example: "  stele org create acme", RunE: a.group}
	c.AddCommand(
		a.needsDatabase(&cobra.Command{
			Use: "create NAME", Short: "Make an organization, with keys of its own", Args: cobra.ExactArgs(1),
			Long: "Make an organization, with keys of its own. It is the operator's act, done where\n" +
				"the database is; STELE_ORGANIZATION says which one other commands work in.",
			Example: "  stele org create acme\n  STELE_ORGANIZATION=acme stele token create --name kim --role admin",
			RunE: func(cmd *cobra.Command, args []string) error {
				b, err := a.operator(cmd.Context())
				if err != nil {
					return err
				}
				org, err := b.local.CreateOrganization(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"organization": org}, func(p *printer) {
					p.line("Made organization %s  %s", p.paint(strong, memory.Line(org.Name)), org.ID)
					p.line("Next: STELE_ORGANIZATION=%s stele token create --name NAME --role admin", quoteName(memory.Line(org.Name)))
				})
			},
		}),
		a.needsDatabase(&cobra.Command{
			Use: "list", Short: "List every organization of the database", Args: cobra.NoArgs, Example: "  stele org list --json",
			RunE: func(cmd *cobra.Command, _ []string) error {
				b, err := a.operator(cmd.Context())
				if err != nil {
					return err
				}
				orgs, err := b.local.Organizations(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"organizations": append([]memory.OrganizationInfo{}, orgs...)}, func(p *printer) {
					for _, org := range orgs {
						p.line("%s  %s", org.ID, p.paint(strong, memory.Line(org.Name)))
					}
					if len(orgs) == 0 {
						p.line("no organization yet: the first command that writes makes %q", memory.DefaultOrganization)
					}
				})
			},
		}),
		&cobra.Command{
			Use: "show", Short: "Show the organization that commands work in, and as whom", Args: cobra.NoArgs, Example: "  stele org show",
			RunE: func(cmd *cobra.Command, _ []string) error {
				b, err := a.open(cmd.Context())
				if err != nil {
					return err
				}
				org, err := b.Organization(cmd.Context(), b.caller())
				if err != nil {
					return err
				}
				shape := map[string]any{"organization": org, "user": b.user, "role": b.role}
				return a.answer(shape, func(p *printer) {
					p.line("%s  %s, made %s", p.paint(strong, memory.Line(org.Name)), org.ID, org.CreatedAt.UTC().Format(dateTime))
					p.line("you are %s, role %s", memory.Line(b.user), b.role)
				})
			},
		},
	)
	return c
}

func (a *app) auditCommand() *cobra.Command {
	var r memory.AuditRequest
	var since string
	c := &cobra.Command{
		Use: "audit", Short: "Show who did what in the organization, newest first", Args: cobra.NoArgs,
		Long: "Show the organization's trail, newest first: who did what to which memory,\n" +
			"project or token, through which door. It holds no text of any memory.",
		Example: "  stele audit --author sam --since yesterday\n  stele audit --limit 100 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(r.Limit); err != nil {
				return err
			}
			if since != "" {
				at, err := sinceWhen(since, time.Now())
				if err != nil {
					return err
				}
				r.Since = &at
			}
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			page, err := b.AuditLog(cmd.Context(), b.caller(), r)
			if err != nil {
				return err
			}
			names := map[uuid.UUID]string{}
			if !a.json {
				if names, err = b.projectNames(cmd.Context()); err != nil {
					return err
				}
			}
			return a.answer(page, func(p *printer) { p.audited(page, names) })
		},
	}
	f := c.Flags()
	f.StringVar(&r.Author, "author", "", "user, or agent/user")
	f.StringVar(&since, "since", "", "today, yesterday, 3d, 12h or a date")
	f.IntVar(&r.Limit, "limit", 20, "how many lines at most")
	f.StringVar(&r.Cursor, "cursor", "", "where the last page ended")
	return c
}

// projectNames is what people call the projects that a trail names by id.
func (b *backend) projectNames(ctx context.Context) (map[uuid.UUID]string, error) {
	projects, err := b.Projects(ctx, b.caller())
	names := make(map[uuid.UUID]string, len(projects))
	for _, p := range projects {
		names[p.ID] = p.Name
	}
	return names, err
}

// audited writes a trail: when, what, to which, by whom.
func (p *printer) audited(page memory.AuditResponse, projects map[uuid.UUID]string) {
	const when, what = 18, 18
	for _, l := range page.Lines {
		subject := l.Memory
		if subject == "" && l.Subject != uuid.Nil && l.Subject != l.Project {
			subject = l.Subject.String()
		}
		text := pad(subject, 10)
		if name := projects[l.Project]; name != "" {
			text += " in " + memory.Line(name)
		}
		text += " by " + memory.Line(l.Author)
		if l.Door != "" {
			text += " (" + memory.Line(l.Door) + ")"
		}
		p.hanging(l.At.UTC().Format(dateTime)+"  "+pad(string(l.Verb), what-1)+" ", strings.Repeat(" ", when+what), text)
	}
	if len(page.Lines) == 0 {
		p.line("nothing yet that fits")
	}
	if page.NextCursor != "" {
		p.line("more: --cursor %s", page.NextCursor)
	}
}
