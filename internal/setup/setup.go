// Package setup installs what the embedded database needs and a machine lacks: PostgreSQL and pgvector.
//
// It looks at the machine (Discover), decides (MakePlan, pure and tested for every system), shows the commands and runs
// them (Run). A machine that has everything is left alone.
package setup

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Options say how Run behaves.
type Options struct {
	BinDir string    // STELE_POSTGRES_BIN, empty to look in the usual places
	Out    io.Writer // what is going to run, and the output of what runs
	// Confirm is asked once after the commands were shown; nil means yes. False ends Run without error and without change.
	Confirm func() (bool, error)
}

// Run sets the machine up and returns the installation that Stele will use. Errors are *problem.Error when the person
// can do something about them.
func Run(ctx context.Context, opts Options) (installation.Installation, error) {
	// Two rounds are enough: the first may only fetch package lists.
	for range 2 {
		facts := Discover(ctx, opts.BinDir)
		plan, err := MakePlan(facts)
		if err != nil {
			return installation.Installation{}, err
		}
		if len(plan.Steps) == 0 {
			i, err := installation.Find(ctx, opts.BinDir)
			if err == nil {
				fmt.Fprintf(opts.Out, "PostgreSQL %s with pgvector %s is ready in %s\n", i.Version, i.Vector, i.BinDir)
			}
			return i, err
		}
		if err := Execute(ctx, facts, plan, opts); err != nil {
			return installation.Installation{}, err
		}
		if !plan.Again {
			break
		}
	}
	i, err := installation.Find(ctx, opts.BinDir)
	if err != nil {
		return i, fmt.Errorf("the commands ran, but: %w", err)
	}
	fmt.Fprintf(opts.Out, "PostgreSQL %s with pgvector %s is ready in %s\n", i.Version, i.Vector, i.BinDir)
	return i, nil
}

// Execute shows the plan's commands, asks, and runs them.
func Execute(ctx context.Context, facts Facts, plan Plan, opts Options) error {
	fmt.Fprint(opts.Out, Describe(facts, plan))
	for _, step := range plan.Steps {
		if step.Root && !facts.Root && !facts.Sudo {
			return problem.New(problem.Unavailable, "", "these commands need the rights of root, and sudo is not installed",
				"run them as root", "or name a database server in STELE_DATABASE_URL")
		}
	}
	if opts.Confirm != nil {
		yes, err := opts.Confirm()
		if err != nil {
			return err
		}
		if !yes {
			return problem.New(problem.Unavailable, "", "nothing was installed", "run stele setup again and agree",
				"or name a database server in STELE_DATABASE_URL")
		}
	}
	for _, step := range plan.Steps {
		if err := runStep(ctx, facts, step, opts.Out); err != nil {
			return err
		}
	}
	return nil
}

// Describe gives the plan for people: why, and the very script that is run.
func Describe(facts Facts, plan Plan) string {
	var b strings.Builder
	for _, step := range plan.Steps {
		b.WriteString("stele setup will " + step.Why)
		if step.Root && !facts.Root {
			b.WriteString(", as root")
		}
		b.WriteString(":\n")
		for line := range strings.Lines(step.Script) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

func runStep(ctx context.Context, facts Facts, step Step, out io.Writer) error {
	argv := []string{"sh", "-euc", step.Script}
	if step.Root && !facts.Root {
		argv = append([]string{"sudo"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, out
	// The script removes its scratch folder when it ends, so it is asked to end before it is made to.
	interruptible(cmd, !step.Root || !facts.Root)
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return problem.New(problem.Unavailable, "", fmt.Sprintf("could not %s: %v", step.Why, err),
			"read the output above, fix what it names and run stele setup again",
			"or name a database server in STELE_DATABASE_URL").Because(err)
	}
	return nil
}
