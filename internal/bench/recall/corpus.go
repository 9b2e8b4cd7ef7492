package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// The shape of the invented memories. None of it is measured on anybody's: it is meant to be hard in the ways that real ones are, with
// words that are in a third of all texts, a project that is much larger than the others, and elements that most is known of.
const (
	vocabulary = 20_000 // distinct words
	// firstRank of Zipf's law: more common words would be stop words, which are drawn apart.
	firstRank  = 10
	stopWords  = 0.4 // of a text
	medianSize = 40  // words of a text, log-normal
	spreadSize = 0.9 // standard deviation of its logarithm: one text in a thousand has 600 words
	meanAge    = 120 * 24 * time.Hour
	organized  = 0.02  // share of the memories that are the organization's
	mostShared = 2_000 // and at most so many, as every project reads them
	perElement = 40    // memories for each element of a model
	leastModel = 8     // elements
	mostModel  = 500
)

// common are the words of texts about programs that the made-up ones stand among.
const common = `order service cache token retry queue session timeout index request response handler client server table column lock
	migration schema config deploy build test release branch commit merge worker job batch stream event topic message payload header
	cookie login role policy audit log metric trace alert budget price invoice payment refund stock customer account address email
	template page form button route path file folder image upload download export import parser encoder buffer pool thread process
	memory disk network proxy gateway balancer cluster node replica shard backup restore snapshot version upgrade rollback flag
	feature limit quota window clock timer schedule interval currency locale format validation error warning panic crash restart`

const glue = `the a is are was be to of in on at by for with from and or not no when which that this it its as if then before after must may never
	always only each all any because since while where into over under but so than has have does do`

var (
	commonWords = strings.Fields(common)
	glueWords   = strings.Fields(glue)
)

// words makes texts. It belongs to one goroutine.
type words struct{ *rand.Rand }

func newWords(seed, stream uint64) words { return words{rand.New(rand.NewPCG(seed, stream))} } //nolint:gosec // the same each time

// name is a word by its rank: the most common are real ones, the others made up, each different and none a stop word.
func name(rank int) string {
	if rank < len(commonWords) {
		return commonWords[rank]
	}
	var b strings.Builder
	for i := rank; len(b.String()) < 6; i /= 39 {
		b.WriteByte("bdfgklmnprtvz"[i%13])
		b.WriteByte("aou"[i/13%3])
	}
	return b.String() + "k"
}

// word draws by Zipf's law.
func (w words) word() string {
	return name(int(math.Exp(math.Log(firstRank)+w.Float64()*math.Log(float64(vocabulary)/firstRank))) - firstRank)
}

// text is n words of sentences.
func (w words) text(n int) string {
	var b strings.Builder
	for i := range n {
		var next string
		switch {
		case w.Float64() < stopWords:
			next = glueWords[w.IntN(len(glueWords))]
		case w.IntN(40) == 0:
			next = fmt.Sprint(w.IntN(500))
		default:
			next = w.word()
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(next)
		if i%12 == 11 && i+1 < n {
			b.WriteByte('.')
		}
	}
	b.WriteByte('.')
	return b.String()
}

// size draws the length of a text in words.
func (w words) size() int { return max(5, int(medianSize*math.Exp(spreadSize*w.NormFloat64()))) }

// skewed draws one of n, the first most often: half of all are among the first tenth.
func (w words) skewed(n int) int { return int(float64(n) * math.Pow(w.Float64(), 3)) }

// content is a whole text of a memory.
func (w words) content() string {
	text := w.text(w.size())
	if len(text) > memory.MaxContentBytes {
		text = text[:strings.LastIndexByte(text[:memory.MaxContentBytes], ' ')]
	}
	return text
}

// sizes shares memories out over projects: the n-th has 1/n of the first, and each at least one.
func sizes(memories, projects int) []int {
	sum := 0.0
	for i := range projects {
		sum += 1 / float64(i+1)
	}
	out := make([]int, projects)
	left := memories
	for i := projects - 1; i >= 0; i-- {
		out[i] = max(1, int(float64(memories)/float64(i+1)/sum))
		if i == 0 {
			out[i] = max(1, left)
		}
		left -= out[i]
	}
	return out
}

// model makes the model of a project for so many memories: a system, containers, components in them, each with its folder.
func model(memories int) memory.ModelImport {
	n := min(max(leastModel, memories/perElement), mostModel)
	containers := min(20, n/2)
	im := memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "sys", Name: "System", Level: c4model.System}}}, Source: "workspace.dsl"}
	for i := range n - 1 {
		e := c4model.Element{Key: fmt.Sprintf("sys.c%d", i), Name: "Container " + name(i), Level: c4model.Container, Parent: "sys"}
		if i >= containers {
			parent := im.Model.Elements[1+i%containers].Key
			e = c4model.Element{Key: fmt.Sprintf("%s.e%d", parent, i), Name: "Component " + name(i), Level: c4model.Component, Parent: parent}
		}
		im.Model.Elements = append(im.Model.Elements, e)
		im.Bindings = append(im.Bindings, c4model.Binding{Element: e.Key, Pattern: fmt.Sprintf("src/e%d/**", i), Source: "model"})
	}
	return im
}

// file is one of the element of that number.
func (w words) file(element int) string {
	return fmt.Sprintf("src/e%d/file%d.go", element, w.skewed(20))
}

// handle is one of its own for each number below 32⁷. The numbers are spread, as drawn ones are.
func handle(number uint64) string {
	const digits, space = "abcdefghijklmnopqrstuvwxyz234567", uint64(1) << 35
	n := number * 25_214_903_917 % space // odd, so that no two numbers below space meet
	out := []byte("m-0000000")
	for p := len(out) - 1; p > 1; p-- {
		out[p] = digits[n%32]
		n /= 32
	}
	return string(out)
}

// draw makes a memory of a space. Elements are those of the project whose model is given, in the order of the model.
func (w words) draw(number uint64, c memory.Caller, scope memory.Scope, elements []memory.Element, now time.Time) postgres.Loaded {
	at := now.Add(-time.Duration(w.ExpFloat64() * float64(meanAge))).Truncate(time.Microsecond)
	r := memory.Record{ProjectID: c.Project, User: c.User, Agent: c.Agent}
	r.Memory = memory.Memory{ID: uuid.Must(uuid.NewV7()), Handle: handle(number), Kind: w.kind(), Scope: scope, Status: memory.Live, Content: w.content(),
		Origin: c.Door, Author: memory.AuthorName(c.Agent, c.User), Revision: 1, CreatedAt: at, ConfirmedAt: at,
		Elements: []memory.ElementRef{}, Paths: []string{}, Tags: []string{}}
	out := postgres.Loaded{Record: r}
	m := &out.Memory
	if w.IntN(5) < 2 {
		m.Title = fmt.Sprintf("%s %d", w.text(4), number)
	}
	if w.IntN(4) == 0 {
		m.Why = w.text(12)
	}
	for range w.skewed(4) {
		m.Tags = append(m.Tags, fmt.Sprintf("tag%d%d", len(m.Tags), w.skewed(50)))
	}
	if w.IntN(50) == 0 {
		expires := now.Add(time.Duration(w.NormFloat64() * float64(30*24*time.Hour))).Truncate(time.Microsecond)
		m.ExpiresAt = &expires
	}
	if w.IntN(7) == 0 {
		for n := range 1 + w.skewed(12) {
			out.CitedBy = append(out.CitedBy, fmt.Sprintf("earlier-%d-%d", number%1000, n))
		}
	} else if w.IntN(10) == 0 {
		out.IgnoredBy = w.IntN(8)
	}
	out.Unreviewed = len(out.CitedBy) == 0 && w.IntN(15) == 0
	if len(elements) == 0 {
		return out
	}
	if n := w.IntN(10); n < 7 {
		e := w.skewed(len(elements))
		if n == 0 && e > 0 { // the root has no folder
			m.Paths = append(m.Paths, w.file(e-1))
		}
		out.Attached = append(out.Attached, memory.Attachment{Element: elements[e].ID, Reason: "writer"})
		m.Elements = append(m.Elements, elements[e].Ref())
	}
	return out
}

// kind draws one: mostly notes.
func (w words) kind() memory.Kind {
	switch n := w.IntN(20); {
	case n < 4:
		return memory.Pitfall
	case n < 9:
		return memory.Convention
	case n < 11:
		return memory.SessionOutcome
	}
	return memory.Note
}
