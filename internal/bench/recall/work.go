package recall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// Mix is how often each kind of call is made, as shares of all.
type Mix map[string]int

// work is one kind of call, or several that belong together.
type work struct {
	name  string
	share int // of the default mix
	do    func(*worker, context.Context)
}

// works are what agents do, in the order in which they are reported. The shares are those of a conversation in which an agent asks
// now and then, and its hooks ask at every prompt and edit.
var works = []work{
	{"recall", 30, (*worker).recall},
	{"element", 10, (*worker).element},
	{"prompt", 18, (*worker).prompt},
	{"edit", 22, (*worker).edit},
	{"remember", 8, (*worker).remember},
	{"confirm", 5, (*worker).confirm},
	{"map", 3, (*worker).knowledgeMap},
	{"briefing", 4, (*worker).briefing},
}

// DefaultMix is the shares of works.
func DefaultMix() Mix {
	m := Mix{}
	for _, w := range works {
		m[w.name] = w.share
	}
	return m
}

// ParseMix reads shares such as "recall=70,remember=30"; what is not named is left out. "" is the default.
func ParseMix(text string) (Mix, error) {
	if text == "" {
		return DefaultMix(), nil
	}
	m := Mix{}
	for part := range strings.SplitSeq(text, ",") {
		name, share, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(share)
		if err != nil || n <= 0 || n > 1000 || !slices.ContainsFunc(works, func(w work) bool { return w.name == name }) {
			var names []string
			for _, w := range works {
				names = append(names, w.name)
			}
			return nil, problem.Invalidf("mix", "%q is no share of a kind of call", memory.Line(part)).
				Fix("write it like recall=70,remember=30, with %s, each from 1 to 1000", strings.Join(names, ", "))
		}
		m[name] = n
	}
	return m, nil
}

// sample is one call.
type sample struct {
	took, database, encoder time.Duration // took is without the encoder
	trips                   int
	failed                  bool
}

// worker is one caller with its own conversation.
type worker struct {
	*Bench
	words
	user    string
	samples map[string][]sample
	failed  map[string]error

	project *project
	talk    string // conversation of the hooks; "" before the first
	events  int    // left of it
	talks   int
}

// conversation is how many events of hooks one has.
const conversation = 40

func newWorker(b *Bench, n int, stream uint64) *worker {
	return &worker{Bench: b, words: newWords(b.Seed, stream), user: fmt.Sprintf("user-%d", n), talk: "",
		samples: map[string][]sample{}, failed: map[string]error{}, talks: int(stream) << 20} //nolint:gosec // a count
}

// run works until the time is over.
func (w *worker) run(ctx context.Context, until time.Time) {
	sum := 0
	for _, of := range works {
		sum += w.Mix[of.name]
	}
	for time.Now().Before(until) && ctx.Err() == nil {
		if w.project == nil || w.IntN(20) == 0 {
			w.move(ctx)
		}
		n := w.IntN(sum)
		for _, of := range works {
			if n -= w.Mix[of.name]; n < 0 {
				of.do(w, ctx)
				break
			}
		}
	}
	w.hangUp(ctx)
}

// move goes on in another project, larger ones more often.
func (w *worker) move(ctx context.Context) {
	w.hangUp(ctx)
	sum := 0
	for _, n := range w.weights {
		sum += n
	}
	n := w.IntN(sum)
	for i, weight := range w.weights {
		if n -= weight; n < 0 {
			w.project = w.projects[i]
			return
		}
	}
}

func (w *worker) caller() memory.Caller {
	c := w.project.caller
	c.User, c.Session = w.user, "session-"+w.user
	return c
}

// measure times one call.
func (w *worker) measure(ctx context.Context, name string, call func(context.Context) error) {
	ctx, t := counted(ctx)
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && w.failed[name] == nil {
		w.failed[name] = err
	}
	w.samples[name] = append(w.samples[name], sample{took: took - t.encoder, database: t.database, encoder: t.encoder, trips: t.trips, failed: err != nil})
}

// question has two to eight words, half of them of a stored text.
func (w *worker) question(least, most int) string {
	from := strings.Fields(w.project.texts[w.IntN(len(w.project.texts))])
	var out []string
	for i := range least + w.IntN(most-least+1) {
		if i%2 == 0 {
			out = append(out, from[w.IntN(len(from))])
		} else {
			out = append(out, w.word())
		}
	}
	return strings.Join(out, " ")
}

func (w *worker) key() (key string, n int) {
	n = w.skewed(len(w.project.elements))
	return w.project.elements[n].Key, n
}

func (w *worker) recall(ctx context.Context) {
	r := memory.RecallRequest{Query: w.question(2, 8)}
	w.measure(ctx, "recall", func(ctx context.Context) error {
		_, err := w.memory.Recall(ctx, w.caller(), r)
		return err
	})
}

func (w *worker) element(ctx context.Context) {
	key, _ := w.key()
	r := memory.RecallRequest{Element: key}
	if w.IntN(2) == 0 {
		r.Query = w.question(2, 6)
	}
	w.measure(ctx, "element", func(ctx context.Context) error {
		_, err := w.memory.Recall(ctx, w.caller(), r)
		return err
	})
}

// hook tells of an event of the conversation, which begins before the first and ends after the last.
func (w *worker) hook(ctx context.Context, name string, r hook.Request) {
	c := w.caller()
	c.Session = ""
	if w.talk == "" {
		w.talks++
		w.talk, w.events = fmt.Sprintf("talk-%s-%d", w.user, w.talks), conversation
		start := hook.Request{Event: hook.Start, Conversation: w.talk, Source: session.SourceStartup}
		w.measure(ctx, "briefing", func(ctx context.Context) error {
			_, err := w.hooks.Hook(ctx, c, start)
			return err
		})
	}
	r.Conversation = w.talk
	w.measure(ctx, name, func(ctx context.Context) error {
		_, err := w.hooks.Hook(ctx, c, r)
		return err
	})
	if w.events--; w.events <= 0 {
		w.hangUp(ctx)
	}
}

// hangUp ends the conversation, if there is one.
func (w *worker) hangUp(ctx context.Context) {
	if w.talk == "" {
		return
	}
	r := hook.Request{Event: hook.End, Conversation: w.talk,
		Progress: &hook.Progress{Asked: []string{w.question(6, 20)}, Answer: w.text(30), Worked: true}}
	w.talk = ""
	c := w.caller()
	c.Session = ""
	w.measure(ctx, "finish", func(ctx context.Context) error {
		_, err := w.hooks.Hook(ctx, c, r)
		return err
	})
}

func (w *worker) prompt(ctx context.Context) {
	w.hook(ctx, "prompt", hook.Request{Event: hook.Prompt, Prompt: w.question(6, 40)})
}

func (w *worker) edit(ctx context.Context) {
	_, n := w.key()
	w.hook(ctx, "edit", hook.Request{Event: hook.BeforeEdit, Paths: []string{w.file(max(0, n-1))}})
}

func (w *worker) remember(ctx context.Context) {
	r := memory.RememberRequest{Kind: memory.Note, Content: w.content()}
	if w.IntN(3) > 0 {
		key, _ := w.key()
		r.Elements = []string{key}
	}
	w.measure(ctx, "remember", func(ctx context.Context) error {
		_, err := w.memory.Remember(ctx, w.caller(), r)
		return err
	})
}

func (w *worker) confirm(ctx context.Context) {
	r := memory.ConfirmRequest{Memory: w.project.handles[w.skewed(len(w.project.handles))], Holds: true}
	w.measure(ctx, "confirm", func(ctx context.Context) error {
		_, err := w.memory.Confirm(ctx, w.caller(), r)
		return err
	})
}

func (w *worker) knowledgeMap(ctx context.Context) {
	w.measure(ctx, "map", func(ctx context.Context) error {
		_, err := w.memory.Map(ctx, w.caller())
		return err
	})
}

// briefing starts a work session with its briefing and finishes it.
func (w *worker) briefing(ctx context.Context) {
	key, _ := w.key()
	c := w.caller()
	w.talks++
	c.Session = fmt.Sprintf("work-%s-%d", w.user, w.talks)
	w.measure(ctx, "briefing", func(ctx context.Context) error {
		started, err := w.sessions.StartSession(ctx, c, session.StartRequest{Task: w.question(4, 12), Elements: []string{key}})
		if err == nil {
			c.Session = started.SessionID
		}
		return err
	})
	w.measure(ctx, "finish", func(ctx context.Context) error {
		_, err := w.sessions.FinishSession(ctx, c, session.FinishRequest{Summary: w.text(25)})
		return err
	})
}
