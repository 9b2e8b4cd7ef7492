package recall

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// Measure is one number of a Result by the name it has there.
type Measure struct {
	Name  string
	Value float64
}

// measures gives those numbers of a result that are worth comparing: of the kinds of calls that were made.
func (r *Result) measures() []Measure {
	var out []Measure
	for _, k := range append(r.each(), named{"all", &r.All}) {
		if k.Count == 0 {
			continue
		}
		for _, m := range []Measure{{"p50_ms", k.P50}, {"p95_ms", k.P95}, {"p99_ms", k.P99}, {"database_ms", k.Database}, {"round_trips", k.Trips}} {
			out = append(out, Measure{k.name + "." + m.Name, m.Value})
		}
	}
	out = append(out, Measure{"all.per_s", r.All.PerS}, Measure{"encoder_ms", r.EncoderMS}, Measure{"cpu.process_ms", r.CPU.Process}, Measure{"cpu.database_ms", r.CPU.Database},
		Measure{"index_bytes", float64(r.IndexBytes)}, Measure{"rss_bytes", float64(r.RSSBytes)})
	if r.ExactTop10 != nil {
		out = append(out, Measure{"exact_top10", *r.ExactTop10})
	}
	return out
}

// Follow does what another process asks for, line by line, until it asks no more: a round of so long, or how exact answers are. Each
// answer is a line of JSON, the first one says that the memories are loaded.
func Follow(ctx context.Context, b *Bench, in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode(struct{}{}); err != nil {
		return err
	}
	for asked := bufio.NewScanner(in); asked.Scan(); {
		verb, of, _ := strings.Cut(asked.Text(), " ")
		var answer any
		switch verb {
		case "round":
			d, err := time.ParseDuration(of)
			if err != nil {
				return err
			}
			if answer, err = b.Round(ctx, d); err != nil {
				return err
			}
		case "exact":
			n, err := strconv.Atoi(of)
			if err != nil {
				return err
			}
			if answer, err = b.Exact(ctx, n); err != nil {
				return err
			}
		default:
			return fmt.Errorf("nothing is called %q", verb)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// child is a process that Follows.
type child struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

// patience is how long a child may take to remove its database after it was told to stop.
const patience = 90 * time.Second

// start runs a program whose arguments make it Follow.
func start(ctx context.Context, name, program string, args []string) (*child, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, problem.Invalidf("compare", "%s cannot be run", program).Fix("name a build of stele").Because(err)
	}
	return &child{name: name, cmd: cmd, in: in, lines: bufio.NewReader(out)}, nil
}

// answer reads the next one.
func (c *child) answer(to any) error {
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		return problem.New(problem.Unavailable, "", "the "+c.name+" build ended before it had answered",
			"look at what it said; a build from before this command cannot be compared").Because(err)
	}
	return json.Unmarshal(line, to)
}

func (c *child) ask(question string, to any) error {
	if _, err := io.WriteString(c.in, question+"\n"); err != nil {
		return fmt.Errorf("the %s build: %w", c.name, err)
	}
	return c.answer(to)
}

// stop lets the process end, which removes its database.
func (c *child) stop() error {
	_ = c.in.Close() // it may be gone
	return c.cmd.Wait()
}

// Comparison is two builds under the same load in turns.
type Comparison struct {
	Memories int        `json:"memories"`
	Projects int        `json:"projects"`
	Rounds   int        `json:"rounds"`
	Provider string     `json:"provider"`
	Measures []Compared `json:"measures"`
}

// Compared is a measure of two builds. Values are medians of the rounds, Ratio is the median of the ratios within a round, of which
// Least and Most are the ends.
type Compared struct {
	Name  string  `json:"name"`
	This  float64 `json:"this"`
	Other float64 `json:"other"`
	Ratio float64 `json:"ratio"` // this / other; 0 where other is 0
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// Compare runs two programs with the arguments that make each Follow, on memories of its own, and puts load on them in turns.
// questions asks both how exact they are; 0 leaves it.
func Compare(ctx context.Context, programs [2]string, args [2][]string, rounds int, each time.Duration, questions int, done func(done, total int)) (_ *Comparison, err error) {
	names := [2]string{"this", "other"}
	var children [2]*child
	defer func() {
		for _, c := range children {
			if c != nil {
				stopped := c.stop()
				if err == nil && stopped != nil {
					err = fmt.Errorf("the %s build: %w", c.name, stopped)
				}
			}
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	for i := range children {
		if children[i], err = start(ctx, names[i], programs[i], args[i]); err != nil {
			return nil, err
		}
		// One after the other: each is to load alone.
		if err = children[i].answer(&struct{}{}); err != nil {
			return nil, err
		}
	}
	var results [2][]*Result
	for n := range rounds {
		for turn := range 2 {
			i := (turn + n) % 2 // who was first is second next time
			r := &Result{}
			if err = children[i].ask("round "+each.String(), r); err != nil {
				return nil, err
			}
			results[i] = append(results[i], r)
			if done != nil {
				done(2*n+turn+1, 2*rounds)
			}
		}
	}
	if questions > 0 {
		for i, c := range children {
			var exact float64
			if err = c.ask("exact "+strconv.Itoa(questions), &exact); err != nil {
				return nil, err
			}
			for _, r := range results[i] {
				r.ExactTop10, r.Questions = &exact, questions
			}
		}
	}
	return compared(results[0], results[1]), nil
}

// compared puts the rounds of two builds side by side.
func compared(this, other []*Result) *Comparison {
	c := &Comparison{Memories: this[0].Memories, Projects: this[0].Projects, Rounds: len(this), Provider: this[0].Provider, Measures: []Compared{}}
	values := func(r *Result) map[string]float64 {
		out := map[string]float64{}
		for _, m := range r.measures() {
			out[m.Name] = m.Value
		}
		return out
	}
	for _, m := range this[0].measures() {
		var a, b, ratios []float64
		for n := range this {
			x, inThis := values(this[n])[m.Name]
			y, inOther := values(other[n])[m.Name]
			if !inThis || !inOther {
				continue
			}
			a, b = append(a, x), append(b, y)
			if y > 0 {
				ratios = append(ratios, x/y)
			}
		}
		if len(a) == 0 {
			continue
		}
		of := Compared{Name: m.Name, This: median(a), Other: median(b)}
		if len(ratios) > 0 {
			of.Ratio, of.Least, of.Most = median(ratios), slices.Min(ratios), slices.Max(ratios)
		}
		c.Measures = append(c.Measures, of)
	}
	return c
}

// median sorts what it is given; of an even number it is the mean of the two in the middle.
func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// WriteText writes a table.
func (c *Comparison) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d memories of %d projects, %d rounds in turns\nmedians, and ratios of this build to the other\n\n", c.Memories, c.Projects, c.Rounds)
	fmt.Fprintf(&b, "%-22s %13s %13s %7s %9s\n", "", "this", "other", "ratio", "of rounds")
	for _, m := range c.Measures {
		fmt.Fprintf(&b, "%-22s %13s %13s %7.2f %4.2f–%4.2f\n", m.Name, number(m.This), number(m.Other), m.Ratio, m.Least, m.Most)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// number writes large ones without a fraction.
func number(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// Growth is results by size, and how each number grows.
type Growth struct {
	Sizes    []*Result `json:"sizes"`
	Measures []Grown   `json:"growth"`
}

// Grown is a measure at each size, and its ratio to that of the first; 0 where that is 0.
type Grown struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
	Ratios []float64 `json:"ratios"`
}

// Grow puts results of several sizes side by side. A measure that one of them lacks is left out.
func Grow(sizes []*Result) *Growth {
	g := &Growth{Sizes: sizes, Measures: []Grown{}}
	for _, m := range sizes[0].measures() {
		of := Grown{Name: m.Name}
		for _, r := range sizes {
			for _, v := range r.measures() {
				if v.Name != m.Name {
					continue
				}
				ratio := 0.0
				if m.Value > 0 {
					ratio = v.Value / m.Value
				}
				of.Values, of.Ratios = append(of.Values, v.Value), append(of.Ratios, ratio)
			}
		}
		if len(of.Values) == len(sizes) {
			g.Measures = append(g.Measures, of)
		}
	}
	return g
}

// WriteText writes a table with the sizes as columns, at most four of them side by side.
func (g *Growth) WriteText(out io.Writer) error {
	const beside = 3 // columns beside the first size
	var b strings.Builder
	for first := 1; first < max(len(g.Sizes), 2); first += beside {
		last := min(first+beside, len(g.Sizes))
		if first > 1 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-21s %11d", "memories", g.Sizes[0].Memories)
		for _, r := range g.Sizes[first:last] {
			fmt.Fprintf(&b, " %14d", r.Memories)
		}
		b.WriteByte('\n')
		for _, m := range g.Measures {
			fmt.Fprintf(&b, "%-21s %11s", m.Name, number(m.Values[0]))
			for i := first; i < last; i++ {
				fmt.Fprintf(&b, " %9s ×%s", short(m.Values[i]), factor(m.Ratios[i]))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// short writes a number in few characters.
func short(f float64) string {
	switch {
	case f >= 1e9:
		return strconv.FormatFloat(f/1e9, 'f', 1, 64) + "G"
	case f >= 1e6:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	}
	return number(f)
}

// factor writes a ratio in three or four characters.
func factor(f float64) string {
	if f >= 10 {
		return fmt.Sprintf("%-3.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}
