package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

func (a *app) tokenCommand() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make, list and revoke tokens: the right to speak to a server", Args: cobra.NoArgs,
		Example: "  stele token create --name kim", RunE: a.group}
	c.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return c
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var r memory.TokenRequest
	var role string
	c := &cobra.Command{
		Use: "create --name NAME", Short: "Make a token and show it, this once", Args: cobra.NoArgs,
		Long: "Make a token. Its text is shown this once and kept nowhere. What is written with\n" +
			"it names NAME as its user. Roles: agent reads, remembers, confirms; reviewer\n" +
			"also retires, restores, imports models and undoes others' work; admin manages\n" +
			"tokens, too; ci pushes runs of drift and reads no memory, and puts memories in\n" +
			"doubt only when it may speak for the tracked branch (--tracked). It needs the\n" +
			"role admin, or the machine of the database.",
		Example: "  stele token create --name kim --role reviewer --expires 90d\n  stele token create --name shop-agents --for shop\n" +
			"  stele token create --name shop-ci --role ci --tracked --for shop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Role = memory.Role(role)
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			made, err := b.CreateToken(cmd.Context(), b.caller(), r)
			if err != nil {
				return err
			}
			names := map[uuid.UUID]string{}
			if made.ProjectID != nil && !a.json {
				if names, err = b.projectNames(cmd.Context()); err != nil {
					names = map[uuid.UUID]string{} // the token is made and must be shown
				}
			}
			server := "https://HOST"
			if b.remote != nil {
				server = b.remote.URL()
			}
			return a.answer(made, func(p *printer) {
				p.line("Made token %s, %s", p.paint(strong, memory.Line(made.Name)), tokenRights(made.Token, names))
				p.line("")
				p.line("%sSTELE_TOKEN=%s", indent, made.Text)
				p.line("%sSTELE_SERVER=%s", indent, server)
				p.line("")
				p.prose("", "It is not shown again. Set both where stele or the agent runs; others see what stands on a command line. "+
					"`stele token revoke "+quoteName(memory.Line(made.Name))+"` ends it.")
				p.warnings(made.Warnings)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&r.Name, "name", "", "user that what is written with it names")
	f.StringVar(&role, "role", "", "agent, ci, reviewer or admin (default agent)")
	f.StringVar(&r.Project, "for", "", "one project it is for: id, name or identity (default: every one)")
	f.StringVar(&r.Expires, "expires", "", "90d, 12h, 2w or a date (default: never)")
	f.BoolVar(&r.CreateProjects, "create-projects", false, "role ci: may make projects")
	f.BoolVar(&r.Tracked, "tracked", false, "role ci: its runs of the tracked branch count")
	if err := c.MarkFlagRequired("name"); err != nil {
		panic(err) // the flag is defined a few lines before
	}
	a.completeFlag(c, "role", fixed(string(memory.RoleAgent), string(memory.RoleCI), string(memory.RoleReviewer), string(memory.RoleAdmin)))
	return c
}

// tokenRights says in words what a token may do, and how long.
func tokenRights(t memory.Token, projects map[uuid.UUID]string) string {
	text := "role " + string(t.Role)
	if t.ProjectID != nil {
		name := projects[*t.ProjectID]
		if name == "" {
			name = t.ProjectID.String()
		}
		text += ", project " + memory.Line(name)
	}
	if t.CreateProjects {
		text += ", may make projects"
	}
	if t.Tracked {
		text += ", for the tracked branch"
	}
	if t.ExpiresAt != nil {
		text += ", until " + t.ExpiresAt.UTC().Format(dateTime)
	}
	return text
}

func (a *app) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the organization's tokens, newest first", Args: cobra.NoArgs, Example: "  stele token list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			tokens, err := b.Tokens(cmd.Context(), b.caller())
			if err != nil {
				return err
			}
			names := map[uuid.UUID]string{}
			if !a.json {
				if names, err = b.projectNames(cmd.Context()); err != nil {
					return err
				}
			}
			return a.answer(map[string]any{"tokens": append([]memory.Token{}, tokens...)}, func(p *printer) {
				for _, t := range tokens {
					p.line("%s  %s, %s", t.ID, p.paint(strong, memory.Line(t.Name)), tokenRights(t, names))
					p.prose(indent, tokenLife(t, time.Now()))
				}
				if len(tokens) == 0 {
					p.line("no token yet: stele token create --name NAME")
				}
			})
		},
	}
}

// tokenLife tells what became of a token.
func tokenLife(t memory.Token, now time.Time) string {
	text := "made " + t.CreatedAt.UTC().Format(dateTime) + " by " + t.CreatedBy
	if t.UsedAt != nil {
		text += ", last used " + t.UsedAt.UTC().Format(dateTime)
	} else {
		text += ", never used"
	}
	switch {
	case t.RevokedAt != nil:
		text += ", REVOKED " + t.RevokedAt.UTC().Format(dateTime)
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		text += ", EXPIRED"
	}
	return text
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME|ID", Short: "End a token; from then on no server takes it", Args: cobra.ExactArgs(1),
		Example: "  stele token revoke shop-agents", ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			t, err := b.RevokeToken(cmd.Context(), b.caller(), args[0])
			if err != nil {
				return err
			}
			return a.answer(t, func(p *printer) { p.line("Revoked token %s  %s", p.paint(strong, memory.Line(t.Name)), t.ID) })
		},
	}
}

func (a *app) completeTokens(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offerFrom(c, func(ctx context.Context, b *backend) (out []cobra.Completion) {
		tokens, err := b.Tokens(ctx, b.caller())
		if err != nil {
			return nil
		}
		for _, t := range tokens {
			if t.RevokedAt == nil {
				out = append(out, cobra.CompletionWithDesc(t.Name, "role "+string(t.Role)))
			}
		}
		return out
	})
}
