package recall

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// statements is how many of the slowest are reported.
const statements = 12

// Kind is how one kind of call went. Times are milliseconds, without the encoder's.
type Kind struct {
	Count    int     `json:"count"`
	Failed   int     `json:"failed"` // of these
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	P99      float64 `json:"p99_ms"`
	PerS     float64 `json:"per_s"`
	Trips    float64 `json:"round_trips"` // to the database, on average
	Database float64 `json:"database_ms"` // waiting for the database, on average
	Encoder  float64 `json:"encoder_ms"`  // on average, on top of the others
}

// Kinds are the kinds of calls. A hook that begins a conversation counts as a briefing, one that ends it as a finish.
type Kinds struct {
	Recall   Kind `json:"recall"`  // by query
	Element  Kind `json:"element"` // recall by element, half of them with a query
	Prompt   Kind `json:"prompt"`  // hook, before a prompt
	Edit     Kind `json:"edit"`    // hook, before an edit
	Remember Kind `json:"remember"`
	Confirm  Kind `json:"confirm"`
	Map      Kind `json:"map"`
	Briefing Kind `json:"briefing"` // start of a work session
	Finish   Kind `json:"finish"`   // end of one
}

// named is a kind by its name in JSON.
type named struct {
	name string
	*Kind
}

func (k *Kinds) each() []named {
	return []named{{"recall", &k.Recall}, {"element", &k.Element}, {"prompt", &k.Prompt}, {"edit", &k.Edit}, {"remember", &k.Remember},
		{"confirm", &k.Confirm}, {"map", &k.Map}, {"briefing", &k.Briefing}, {"finish", &k.Finish}}
}

// CPU is what an average call of the mix took of processors, in milliseconds; 0 where it cannot be told.
type CPU struct {
	Process  float64 `json:"process_ms"`  // this process
	Database float64 `json:"database_ms"` // the backends of PostgreSQL
	Active   float64 `json:"active_ms"`   // that the database was at statements, by its own account
}

// Result is what a run came to.
type Result struct {
	Memories    int     `json:"memories"`
	Projects    int     `json:"projects"`
	Largest     int     `json:"largest_project"` // memories
	Concurrency int     `json:"concurrency"`
	Seconds     float64 `json:"seconds"`
	Provider    string  `json:"provider"` // model of the vectors; "" for words alone
	Embedded    int     `json:"embedded"` // memories whose vector is the encoder's; the others' are made from these
	LoadPerS    float64 `json:"load_per_s"`
	Kinds
	All        Kind             `json:"all"`
	EncoderMS  float64          `json:"encoder_ms"` // of a recall by query
	CPU        CPU              `json:"cpu"`
	ExactTop10 *float64         `json:"exact_top10"` // share of questions; null when it was not asked for
	Questions  int              `json:"questions"`   // of ExactTop10
	IndexBytes int64            `json:"index_bytes"`
	RSSBytes   int64            `json:"rss_bytes"`
	Tables     map[string]Table `json:"tables"`
	Statements []Statement      `json:"statements"`
}

func (b *Bench) result(samples map[string][]sample, took time.Duration) *Result {
	r := &Result{Memories: b.Memories, Projects: b.Projects, Largest: slices.Max(b.weights), Concurrency: b.Concurrency, Seconds: took.Seconds(),
		Provider: b.Embedder.Model(), Embedded: b.sampled, LoadPerS: float64(b.Memories) / b.loaded.Seconds()}
	var all []sample
	for _, k := range r.each() {
		*k.Kind = kind(samples[k.name], took)
		all = append(all, samples[k.name]...)
	}
	r.All = kind(all, took)
	r.EncoderMS = r.Recall.Encoder
	return r
}

// kind sums up calls.
func kind(all []sample, over time.Duration) Kind {
	k := Kind{Count: len(all)}
	if len(all) == 0 {
		return k
	}
	var times []time.Duration
	var trips int
	var database, encoder time.Duration
	for _, s := range all {
		if s.failed {
			k.Failed++
			continue
		}
		times = append(times, s.took)
		trips, database, encoder = trips+s.trips, database+s.database, encoder+s.encoder
	}
	n := len(times)
	if n == 0 {
		return k
	}
	slices.Sort(times)
	at := func(percent int) float64 { return ms(times[min(n-1, n*percent/100)]) }
	k.P50, k.P95, k.P99 = at(50), at(95), at(99)
	k.PerS = float64(n) / over.Seconds()
	k.Trips, k.Database, k.Encoder = float64(trips)/float64(n), ms(database)/float64(n), ms(encoder)/float64(n)
	return k
}

// head says what the run was about.
func (r *Result) head() string {
	by := "found by words alone"
	if r.Provider != "" {
		by = fmt.Sprintf("vectors of %s: %d by it, the others near these", r.Provider, r.Embedded)
	}
	return fmt.Sprintf("%d memories, %d in the largest of %d projects, loaded at %.0f/s\n%s\n%d at a time for %.0f s\n",
		r.Memories, r.Largest, r.Projects, r.LoadPerS, cut(by, columns), r.Concurrency, r.Seconds)
}

// columns is the width of what is written.
const columns = 80

// WriteText writes tables.
func (r *Result) WriteText(out io.Writer) error {
	var b strings.Builder
	b.WriteString(r.head() + "\n")
	fmt.Fprintf(&b, "%-9s %7s %8s %8s %8s %8s %6s %8s %7s\n", "", "calls", "p50 ms", "p95 ms", "p99 ms", "per s", "trips", "db ms", "enc ms")
	row := func(name string, k *Kind) {
		if k.Count == 0 {
			return
		}
		fmt.Fprintf(&b, "%-9s %7d %8.1f %8.1f %8.1f %8.1f %6.1f %8.1f %7.2f\n", name, k.Count, k.P50, k.P95, k.P99, k.PerS, k.Trips, k.Database, k.Encoder)
		if k.Failed > 0 {
			fmt.Fprintf(&b, "%-9s %7d failed\n", "", k.Failed)
		}
	}
	for _, k := range r.each() {
		row(k.name, k.Kind)
	}
	row("all", &r.All)
	fmt.Fprintf(&b, "\nprocessor for a call: %.2f ms here, %.2f ms in the database\n", r.CPU.Process, r.CPU.Database)
	fmt.Fprintf(&b, "index %.1f MB, resident %.0f MB\n", float64(r.IndexBytes)/1e6, float64(r.RSSBytes)/1e6)
	if r.ExactTop10 != nil {
		fmt.Fprintf(&b, "the ten best are those of a full scan: %.1f %% of %d questions\n", *r.ExactTop10*100, r.Questions)
	}
	b.WriteString("\nwhere the time of the database went\n")
	for _, s := range r.Statements {
		fmt.Fprintf(&b, "%4.0f %% %7d × %7.2f ms  %s\n", s.Share*100, s.Count, s.MS/float64(max(s.Count, 1)), cut(s.Text, 50))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// cut is the beginning of a text.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
