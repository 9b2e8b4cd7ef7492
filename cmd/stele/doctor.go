package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// finding is one thing doctor looked at.
type finding struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Detail string   `json:"detail"`
	Fixes  []string `json:"fixes"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look at everything Stele needs, and say what is wrong", Args: cobra.NoArgs,
		Long: "Look at the program, its settings, the database, its roles and schema, the\n" +
			"keys, the project and when the last memory was written; with a server, at the\n" +
			"server and the token instead of database and keys. Exit code 1 when something\n" +
			"is wrong.",
		Example: "  stele doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examine(cmd.Context())
			ok := true
			for _, f := range findings {
				ok = ok && f.OK
			}
			if err := a.answer(map[string]any{"ok": ok, "findings": findings}, func(p *printer) { p.findings(findings) }); err != nil {
				return err
			}
			if !ok {
				return errNo
			}
			return nil
		},
	}
}

func (p *printer) findings(findings []finding) {
	for _, f := range findings {
		mark := "ok  "
		if !f.OK {
			mark = p.paint(alarm, "BAD ")
		}
		p.hanging(mark+pad(f.Name, 11), strings.Repeat(" ", 15), memory.Line(f.Detail))
		for _, fix := range f.Fixes {
			p.hanging(strings.Repeat(" ", 15)+"→ ", strings.Repeat(" ", 17), memory.Line(fix))
		}
	}
}

// examine looks at one thing after the other; what rests on something broken is not looked at.
func (a *app) examine(ctx context.Context) []finding {
	var out []finding
	good := func(name, format string, args ...any) {
		out = append(out, finding{Name: name, OK: true, Detail: fmt.Sprintf(format, args...), Fixes: []string{}})
	}
	bad := func(name string, err error) {
		p, ok := problem.As(err)
		if !ok {
			p = problem.New(problem.Unavailable, "", err.Error())
		}
		detail := p.Detail
		if p.Field != "" {
			detail = p.Field + ": " + detail
		}
		out = append(out, finding{Name: name, Detail: detail, Fixes: p.Fixes})
	}
	b := thisBuild()
	good("program", "stele %s, %s, %s", b.Version, b.Go, b.Platform)
	c, err := a.load()
	if err != nil {
		bad("settings", err)
		return out
	}
	unknown, file := a.environment.Unknown(), exposed(c, a.environment.File())
	if len(unknown) > 0 {
		bad("settings", problem.Invalidf("", "%s means nothing to this program", strings.Join(unknown, ", ")).Fix("stele config shows what can be set"))
	}
	if file != "" {
		bad("settings", problem.Invalidf("", "%s holds a token, and others on this machine can read it", file).Fix("chmod 600 %s", quoteName(file)))
	}
	if len(unknown) == 0 && file == "" {
		good("settings", "read; stele config shows them")
	}
	if c.Server != "" {
		a.examineServer(ctx, good, bad)
		return out
	}
	opened, err := a.open(ctx)
	if err != nil {
		name := "database"
		if p, ok := problem.As(err); ok && (p.Field == c.MasterKeyFile || p.Field == secret.EnvKey) {
			name = "keys"
		}
		bad(name, err)
		return out
	}
	version, err := opened.db.Version(ctx)
	if err != nil {
		bad("database", err)
		return out
	}
	where := "a server of your own"
	if opened.cluster != nil {
		where = "embedded, " + c.DataDir
		if s, err := opened.cluster.Status(ctx); err == nil {
			where = fmt.Sprintf("embedded PostgreSQL %s, pgvector %s, %s (%s)", s.Version, s.Vector, s.DataDir, humanBytes(s.SizeBytes))
		}
	}
	good("database", "%s, %s", where, migrated(version))
	good("roles", "connected as %s, which owns nothing and which row-level security binds", postgres.AppRole)
	// Whatever is read of an organization opens its keys first.
	anyone := memory.Caller{Org: opened.org, User: opened.user, Role: opened.role, Door: memory.FromCLI}
	if _, err := opened.List(ctx, anyone, memory.ListRequest{Limit: 1}); err != nil {
		bad("keys", err)
		return out
	}
	key := "from " + config.Prefix + "MASTER_KEY"
	if c.MasterKey == "" {
		key = c.MasterKeyFile
	}
	good("keys", "the master key opens the organization's keys (%s); keep a copy apart from the data", key)
	a.examineProject(ctx, opened, good, bad)
	return out
}

// exposed names the configuration file when the token comes from there and others can read it.
func exposed(c config.Config, file string) string {
	for _, v := range c.Values() {
		if v.Key == "token" && strings.HasPrefix(v.Source, "file ") && runtime.GOOS != "windows" {
			if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
				return file
			}
		}
	}
	return ""
}

// examining bounds how long a server is waited for: whoever asks what is wrong wants to know now.
const examining = 10 * time.Second

func (a *app) examineServer(ctx context.Context, good func(name, format string, args ...any), bad func(string, error)) {
	ctx, cancel := context.WithTimeout(ctx, examining)
	defer cancel()
	opened, err := a.open(ctx)
	if err != nil {
		name := "server"
		if p, ok := problem.As(err); ok && p.Field == "token" {
			name = "token"
		}
		bad(name, err)
		return
	}
	version, err := opened.remote.Version(ctx)
	switch {
	case err != nil:
		// A proxy may let through nothing but the API, which works.
		good("server", "%s answers", opened.remote.URL())
	default:
		good("server", "%s answers, stele %s", opened.remote.URL(), version)
	}
	org, err := opened.Organization(ctx, opened.caller())
	if err != nil {
		bad("token", err)
		return
	}
	reach := "every project"
	if opened.bound != uuid.Nil {
		reach = "one project"
	}
	good("token", "speaks for %s of organization %s, role %s, %s", opened.user, org.Name, opened.role, reach)
	a.examineProject(ctx, opened, good, bad)
}

func (a *app) examineProject(ctx context.Context, b *backend, good func(name, format string, args ...any), bad func(string, error)) {
	caller, err := b.Caller(ctx, a.project, false)
	if err != nil {
		bad("project", err)
		return
	}
	if caller.Project == uuid.Nil {
		good("project", "none yet; the first thing remembered here makes it, or stele init")
		return
	}
	project, err := b.FindProject(ctx, caller, caller.Project.String())
	if err != nil {
		bad("project", err)
		return
	}
	m, err := b.Map(ctx, caller)
	if err != nil {
		bad("project", err)
		return
	}
	if m.Total == 0 {
		bad("project", problem.Invalidf("", "%s (%s) has no architecture model", project.Name, project.ID).Fix("stele model import PATH"))
	} else {
		good("project", "%s (%s): %s", project.Name, project.ID, m.Headline)
	}
	newest, err := b.List(ctx, caller, memory.ListRequest{Limit: 1})
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		bad("memories", err)
	case len(newest.Memories) == 0:
		good("memories", "none yet")
	default:
		good("memories", "the last was written %s by %s", newest.Memories[0].CreatedAt.UTC().Format(dateTime), newest.Memories[0].Author)
	}
}
