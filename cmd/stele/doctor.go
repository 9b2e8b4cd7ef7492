package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) doctorCommand() *cobra.Command {
	var deep bool
	var sample int
	c := &cobra.Command{
		Use: "doctor", Short: "Test everything Stele needs, and say what to do", Args: cobra.NoArgs,
		Long: "Test every link of the chain: the program, its settings, the server or the\n" +
			"database with its roles and schema, the keys, the encoder, the models, and when\n" +
			"a memory was last written and shown. Against a server, the server is asked to do\n" +
			"the same, which needs the admin role. With --deep, look through all data and say\n" +
			"what contradicts itself. Exit code 1 when something does not work; a warning is\n" +
			"no failure.",
		Example: "  stele doctor\n  stele doctor --json\n  stele doctor --deep --sample 1000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("sample") && !deep {
				return problem.Invalidf("sample", "only --deep opens texts").Fix("say stele doctor --deep --sample %d", sample)
			}
			if sample < 0 {
				return problem.Invalidf("sample", "%d texts are none", sample).Fix("give a number such as 1000, or 0 for all")
			}
			x := &examination{app: a, now: time.Now}
			out := x.run(cmd.Context(), deep, sample)
			if err := a.answer(out, func(p *printer) { p.diagnosis(out) }); err != nil {
				return err
			}
			if !out.OK {
				return errNo
			}
			return nil
		},
	}
	c.Flags().BoolVar(&deep, "deep", false, "look through all data of the database, which takes a while")
	c.Flags().IntVar(&sample, "sample", 0, "with --deep: about how many texts to open (default all)")
	return c
}

// diagnosis is the answer of `stele doctor`.
type diagnosis struct {
	doctor.Report
	Server *doctor.Report `json:"server"` // what the server found of itself; null where none was asked
	Deep   []wholeness    `json:"deep"`   // of each organization; null without --deep, or where that could not be told
}

// examination is one run: what it found so far is what the rest rests on.
type examination struct {
	*app
	now func() time.Time

	config   config.Config
	backend  *backend
	blamed   map[string]error // id of a probe → what went wrong before its turn and is its to tell
	reported *doctor.Report   // by the server
}

func (x *examination) run(ctx context.Context, deep bool, sample int) diagnosis {
	var err error
	if x.config, err = x.load(); err != nil {
		x.blame("settings", err)
	}
	out := diagnosis{Report: doctor.Run(ctx, x.probes(deep))}
	if out.Server = x.reported; out.Server != nil {
		out.OK = out.OK && out.Server.OK
	}
	if deep && x.reads(out.Checks) {
		out.Deep = x.deep(ctx, sample)
		for _, w := range out.Deep {
			out.OK = out.OK && w.OK
		}
	}
	return out
}

// blame leaves it to a probe to tell what went wrong before its turn.
func (x *examination) blame(id string, err error) {
	if x.blamed == nil {
		x.blamed = map[string]error{}
	}
	x.blamed[id] = err
}

// probes are those of this machine, of what it works with, and of what works with it.
func (x *examination) probes(deep bool) []doctor.Probe {
	chain := x.local
	if x.config.Server != "" {
		chain = x.remote
	}
	return slices.Concat(x.machine(), chain(deep), x.agents())
}

// reads tells whether there is data to look through.
func (x *examination) reads(checks []doctor.Check) bool {
	return x.backend != nil && x.backend.store != nil && !slices.ContainsFunc(checks, func(c doctor.Check) bool {
		return c.ID == "schema" && c.State != doctor.OK && c.State != doctor.Warn
	})
}

// marks are how states are shown; all are as long.
var marks = map[doctor.State]string{doctor.OK: "ok  ", doctor.Warn: "warn", doctor.Fail: "FAIL", doctor.Skip: "-   "}

// nameWidth is where details begin.
const nameWidth = 17

func (p *printer) diagnosis(d diagnosis) {
	p.checks(d.Checks)
	if d.Server != nil {
		p.line("\n%s", p.paint(strong, "The server says of itself"))
		p.checks(d.Server.Checks)
	}
	for _, w := range d.Deep {
		p.line("\n%s", p.paint(strong, "Data of "+memory.Line(w.Name)))
		p.wholeness(w)
	}
}

func (p *printer) checks(checks []doctor.Check) {
	for _, c := range checks {
		p.checked(c.State, c.Name, c.Detail, c.Fix)
	}
}

func (p *printer) checked(state doctor.State, name, detail, fix string) {
	mark := marks[state] + " "
	switch state {
	case doctor.Fail:
		mark = p.paint(alarm, mark)
	case doctor.Skip:
		mark = p.paint(faint, mark)
	default:
	}
	indent := strings.Repeat(" ", nameWidth)
	p.hanging(mark+pad(name, nameWidth-5), indent, memory.Line(detail))
	if fix != "" {
		p.hanging(indent+"→ ", indent+"  ", memory.Line(fix))
	}
}

// deepOnServer is told where --deep was asked for and there is no database at hand.
func deepOnServer(asked bool) []doctor.Probe {
	if !asked {
		return nil
	}
	return []doctor.Probe{{ID: "deep", Name: "data", Run: func(context.Context) doctor.Finding {
		return doctor.Bad("stele doctor --deep --server local", "--deep looks through the database itself, and commands go to a server: %s", "run it where the database is")
	}}}
}

// wholeness is what was found of the data of one organization.
type wholeness struct {
	Organization string             `json:"organization"` // id
	Name         string             `json:"name"`
	OK           bool               `json:"ok"`
	Problem      string             `json:"problem"` // why it could not be looked through; "" when it was
	Fix          string             `json:"fix"`
	Invariants   []memory.Invariant `json:"invariants"`
	Took         int64              `json:"took_ms"` // milliseconds
}

// deep looks through the data of every organization of the database.
func (x *examination) deep(ctx context.Context, sample int) []wholeness {
	out := []wholeness{}
	failed := func(w wholeness, err error) []wholeness {
		f := doctor.Failed(err)
		w.Problem, w.Fix = f.Detail, f.Fix
		return append(out, w)
	}
	orgs, err := x.backend.store.OrganizationIDs(ctx)
	if err != nil {
		return failed(wholeness{Name: "all organizations", Invariants: []memory.Invariant{}}, err)
	}
	for _, org := range orgs {
		began := time.Now()
		w := wholeness{Organization: org.String(), Name: org.String(), Invariants: []memory.Invariant{}}
		info, err := x.backend.store.OrganizationInfo(ctx, org)
		if problem.Is(err, problem.NotFound) {
			continue // its name is claimed and the rest not committed yet
		}
		if err == nil {
			w.Name = info.Name
			told := x.tellWhenSlow("looking through the data of " + info.Name)
			w.Invariants, err = x.backend.store.Invariants(ctx, org, sample)
			told.Stop()
		}
		if w.Took = time.Since(began).Milliseconds(); err != nil {
			out = failed(w, err)
			continue
		}
		w.OK = !slices.ContainsFunc(w.Invariants, func(i memory.Invariant) bool { return i.Broken > 0 })
		out = append(out, w)
	}
	return out
}

// deepFixes say what to do about each invariant that is broken. What is derived is derived anew; the rest is in backups.
var deepFixes = map[string]string{
	"index": "stele key rotate --index", "postings": "stele key rotate --index", "frequencies": "stele key rotate --index", "words": "stele key rotate --index",
	"vectors": "keep stele serve running: it removes vectors of other models and fills in what is missing",
	"texts":   "stele db restore FILE, or erase what stele list marks unreadable",
}

// fixDeep is for everything else.
const fixDeep = "stele db restore FILE, or report it with the output of stele doctor --deep --json: it holds ids only"

func (p *printer) wholeness(w wholeness) {
	if w.Problem != "" {
		p.checked(doctor.Fail, "data", w.Problem, w.Fix)
	}
	for _, i := range w.Invariants {
		if i.Broken == 0 {
			p.checked(doctor.OK, i.ID, fmt.Sprintf("%s (%d)", i.Claim, i.Checked), "")
			continue
		}
		fix := deepFixes[i.ID]
		if fix == "" {
			fix = fixDeep
		}
		p.checked(doctor.Fail, i.ID, fmt.Sprintf("not so: %s; %d of %d: %s", i.Claim, i.Broken, i.Checked, strings.Join(i.Subjects, "; ")), fix)
	}
}
