package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// world is a random history: branches that part and meet, files that come, go, change and move.
type world struct {
	rng     *rand.Rand
	stream  bytes.Buffer
	commits int
	tips    [3]int               // commit of each branch, from 1
	files   [3]map[string]string // of each branch
}

var places = []string{"api", "api/deep", "web", "web/parts", "lib"}

func (w *world) name() string {
	return places[w.rng.IntN(len(places))] + "/" + string(rune('a'+w.rng.IntN(5))) + []string{".go", ".ts", ".md"}[w.rng.IntN(3)]
}

func (w *world) text() string {
	var b strings.Builder
	for range 3 + w.rng.IntN(12) {
		fmt.Fprintf(&b, "func handleNumber%d() { return valueOf%d }\n", w.rng.IntN(8), w.rng.IntN(30))
	}
	return b.String()
}

// step is a commit on one of the branches, or a merge of two.
func (w *world) step() {
	branch := w.rng.IntN(len(w.tips))
	files, other := w.files[branch], -1
	if w.tips[branch] == 0 { // a branch begins
		from := w.rng.IntN(len(w.tips))
		w.tips[branch], files = w.tips[from], maps.Clone(w.files[from])
		if files == nil {
			files = map[string]string{}
		}
	} else if w.rng.IntN(5) == 0 {
		if other = w.rng.IntN(len(w.tips)); w.tips[other] == w.tips[branch] || w.tips[other] == 0 {
			other = -1
		}
	}
	if other >= 0 {
		for _, f := range slices.Sorted(maps.Keys(w.files[other])) {
			if w.rng.IntN(2) == 0 {
				files[f] = w.files[other][f]
			}
		}
	}
	for range 1 + w.rng.IntN(3) {
		there := slices.Sorted(maps.Keys(files))
		switch n := w.rng.IntN(6); {
		case n < 2 || len(there) < 4:
			files[w.name()] = w.text()
		case n == 2:
			delete(files, there[w.rng.IntN(len(there))])
		case n == 3: // moved, and perhaps changed
			f := there[w.rng.IntN(len(there))]
			text := files[f]
			delete(files, f)
			files[w.name()] = text + []string{"", "// moved\n"}[w.rng.IntN(2)]
		case n == 4: // a folder moves
			from, to := places[w.rng.IntN(len(places))]+"/", places[w.rng.IntN(len(places))]+"/"
			for _, f := range there {
				if rest, ok := strings.CutPrefix(f, from); ok && !strings.Contains(rest, "/") {
					text := files[f]
					delete(files, f)
					files[to+rest] = text
				}
			}
		default:
			f := there[w.rng.IntN(len(there))]
			lines := strings.SplitAfter(files[f], "\n")
			at := w.rng.IntN(len(lines))
			files[f] = strings.Join(lines[:at], "") + w.text() + strings.Join(lines[min(len(lines), at+4):], "")
		}
	}
	w.commits++
	message := fmt.Sprintf("Step %d\ngoes on\n\nbody\n", w.commits)
	const start = 1_767_225_600 // 2026-01-01
	fmt.Fprintf(&w.stream, "commit refs/heads/b%d\nmark :%d\ncommitter Ana <ana@example.org> %d +0200\ndata %d\n%s\n", branch, w.commits, start+60*w.commits, len(message), message)
	if w.tips[branch] != 0 {
		fmt.Fprintf(&w.stream, "from :%d\n", w.tips[branch])
	}
	if other >= 0 {
		fmt.Fprintf(&w.stream, "merge :%d\n", w.tips[other])
	}
	w.stream.WriteString("deleteall\n")
	for _, f := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&w.stream, "M 644 inline %s\ndata %d\n%s\n", f, len(files[f]), files[f])
	}
	w.tips[branch], w.files[branch] = w.commits, files
}

// Whatever is kept and shared among many texts, each is told what git would say if it were asked about this text alone.
func TestEvaluateIsWhatGitSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &world{rng: rand.New(rand.NewPCG(seed, 1))}
			for range 30 {
				w.step()
			}
			g := gittest.New(t)
			g.Import(w.stream.String())
			head := g.Git("rev-parse", "b0")
			commits := strings.Fields(g.Git("rev-list", "--all"))
			repo, err := git.Open(t.Context(), g.Dir)
			if err != nil {
				t.Fatal(err)
			}
			watched := w.watched(commits)
			got, err := Evaluate(t.Context(), repo, head, watched)
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewSearcher(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			o := &oracle{t, repo, s}
			said := map[State]int{}
			for n, w := range watched {
				want := o.verdict(head, w)
				a, _ := json.Marshal(got[n])
				b, _ := json.Marshal(want)
				if !bytes.Equal(a, b) {
					t.Errorf("%+v\ngives %s\nwant  %s", w, a, b)
				}
				for _, c := range want.Claims {
					said[c.State]++
				}
			}
			if said[Gone] == 0 || said[Moved] == 0 || said[Holds] == 0 {
				t.Errorf("the history says too little: %v", said)
			}
		})
	}
}

// watched are texts that were written somewhere in the history, about something there.
func (w *world) watched(commits []string) []Watched {
	commit := func() string { return commits[w.rng.IntN(len(commits))] }
	patterns := []string{"/api/", "api/deep", "/web/**", "*.go", "lib/*.ts", "**/parts/**", "/api/{a,b}.go"}
	var out []Watched
	for n := range 40 {
		x := Watched{ID: fmt.Sprint(n), Seen: commit(), Breaking: []string{commit(), commit(), commits[0], "unknown"}}
		switch w.rng.IntN(8) {
		case 0:
			x.Seen = ""
		case 1:
			x.Seen = strings.Repeat("12", 20)
		case 2:
			x.Seen = x.Seen[:12]
		}
		for range w.rng.IntN(3) {
			x.Patterns = append(x.Patterns, patterns[w.rng.IntN(len(patterns))])
		}
		if w.rng.IntN(3) == 0 {
			x.Files = []string{w.name()}
		}
		for range 1 + w.rng.IntN(3) {
			var where []string
			for range w.rng.IntN(3) {
				where = append(where, w.name())
			}
			c := WatchedClaim{Text: fmt.Sprintf("handleNumber%d", w.rng.IntN(9)), Kind: Symbol, Evidence: w.rng.IntN(2) == 0, Where: where}
			if w.rng.IntN(3) == 0 {
				c.Kind, c.Text = Path, append(places, w.name(), "*.go", "deep/a.go")[w.rng.IntN(len(places)+3)]
			}
			x.Claims = append(x.Claims, c)
		}
		out = append(out, x)
	}
	return out
}
