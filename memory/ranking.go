package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Ranking holds every constant of a recall's score:
//
//	relevance = SemanticWeight · semantic + LexicalWeight · lexical
//	score     = relevance × kind × freshness × citation × ignored × doubt × trust
//
// Kind and freshness are advantages. The best result of a query has them in full, the others the less the less
// relevant they are (AdvantagePower). Where meaning takes part, the two most relevant results speak for others that are
// like them (feedback).
//
// It is a value: configuration changes a copy. The formula has its home here; a Store may compute it too, to bring the
// best candidates only, but what decides the order is Factors and Score.
type Ranking struct {
	// SemanticWeight and LexicalWeight blend meaning and words. Measured on 1,981 public questions: an encoder alone
	// misses identifiers, words alone miss paraphrases, and the optimum between 0.4 and 0.7 is flat.
	SemanticWeight float64
	LexicalWeight  float64
	// Kind weighs what a memory is: a trap not known costs more than a note not read.
	Kind map[Kind]float64
	// AdvantagePower is how fast the advantage of a kind and of freshness goes with relevance. Of what its kind adds to the least
	// kind, and freshness to FreshnessRest, a memory has the share (held ÷ the most held of any result)^AdvantagePower, where held is
	// relevance × ignored × doubt × trust; the best has it all, and without a query all have. Relevance does not spread over its
	// range: an answer and something near it differ by a fifth, kinds threefold and freshness as much. So without this (0) a
	// fresh pitfall about something else comes before the note that answers, and a fresh memory that is disputed before the
	// old one that is right. Measured on the developer set (docs/retrieval.md), with the encoder and by words alone: pitfalls
	// before the answer 7 and 7 of 21, disputed memories before the undisputed 8 and 8 of 10; at 4 it is 0 and 1, 0 and 0.
	// At 6 they are the same and fewer answers are among the first five.
	AdvantagePower float64
	// HalfLife halves a memory's freshness since it was last confirmed: about a quarter until little is left.
	HalfLife time.Duration
	// FreshnessRest is what remains of the multiplier for the oldest memory: time is a weak witness, so an old
	// convention sinks but never vanishes.
	FreshnessRest float64
	// CitationGain is the most that being relied on adds, reached at CitationFull distinct sessions: logarithmic and
	// bounded, so that a popular memory cannot bury the newer one that corrects it.
	CitationGain float64
	CitationFull int
	// IgnoredFrom reporting sessions that were served a memory without one citing it multiply its score by Ignored.
	IgnoredFrom int
	Ignored     float64
	// Doubt demotes a memory in doubt or disputed, once. Demoted, never hidden.
	Doubt float64
	// Unreviewed demotes what an import or a hook wrote and nobody has confirmed or cited.
	Unreviewed float64
	// BestShare is the share of the best relevance of a query that a result needs. On the public questions 0.4 cost
	// nothing and 0.5 a point of recall.
	BestShare float64
	// WordsShare is that share where words alone decide. Overlaps of words spread wider than blends with cosines: on the public
	// questions 0.4 costs them 1.3 points of recall at 10 and 0.6 at 5 against 0.3, and on the developer set nothing differs.
	WordsShare float64
	// LexicalFloor is the least relevance, by coverage of all the words of the query, of a memory found by words
	// alone. Vectors bring the floor of their model (embedding.Thresholds). It is the largest that costs nothing: on
	// 1,014 public questions about five conversations (one turn one memory, words only, BestShare applied) 0.10 leaves
	// recall at 5 and 10 at 0.568 and 0.616 as without a floor, 0.12 costs a tenth and three tenths of a point, 0.15 half
	// a point and a point. Of 40 questions about other things, put to each conversation, 33 % then find nothing (31 %
	// without a floor) and 50 % at 0.15.
	LexicalFloor float64
	// FeedbackVector and FeedbackWords are how much the two most relevant results move the query towards themselves: their mean
	// vector is added to the query's with the first as its weight, and the second is their share of what words count. Public
	// questions often find one turn of a talk and miss the next, which says it in the words of the first. Measured on
	// 1,018 of them: recall at 10 from 0.687 to 0.703 and MRR from 0.516 to 0.531; between 0.3 and 0.7, with one result more,
	// and over all five conversations it is nearly the same. One result alone brings half of it. 0 and 0 is none.
	FeedbackVector float64
	FeedbackWords  float64
	// MaxTerms bounds the distinct words of one query that take part in the search; the rarest are kept, since they
	// carry the weight. A question has about ten; 64 leaves room for a pasted paragraph.
	MaxTerms int
}

// DefaultRanking gives the constants of the contract. A test holds each of them.
func DefaultRanking() Ranking {
	return Ranking{
		SemanticWeight: 0.55,
		LexicalWeight:  0.45,
		Kind:           map[Kind]float64{Pitfall: 3.0, Convention: 2.0, Note: 1.5, SessionOutcome: 1.0},
		AdvantagePower: 4,
		HalfLife:       45 * 24 * time.Hour,
		FreshnessRest:  0.3,
		CitationGain:   0.8,
		CitationFull:   20,
		IgnoredFrom:    5,
		Ignored:        0.75,
		Doubt:          0.6,
		Unreviewed:     0.5,
		BestShare:      0.4,
		WordsShare:     0.3,
		LexicalFloor:   0.1,
		FeedbackVector: 0.5,
		FeedbackWords:  0.4,
		MaxTerms:       64,
	}
}

// Standing is what a score needs of a memory besides its relevance to a query.
type Standing struct {
	Kind        Kind
	ConfirmedAt time.Time
	Citations   int  // distinct sessions that cited it
	IgnoredBy   int  // reporting sessions it was served to without citation
	Doubted     bool // in doubt or disputed
	Unreviewed  bool
}

// continuing is the ranking of a question about earlier work: outcomes of sessions weigh as much as pitfalls.
func (r Ranking) continuing() Ranking {
	r.Kind = maps.Clone(r.Kind)
	r.Kind[SessionOutcome] = max(r.Kind[SessionOutcome], r.Kind[Pitfall])
	return r
}

// Factors computes the parts of a score at a moment, of a memory as relevant as the best of its query. semantic is the cosine of both vectors, nil when either side has
// none; lexical is the share of the query's weight that the memory has, 0..1.
func (r Ranking) Factors(semantic *float64, lexical float64, s Standing, now time.Time) Factors {
	f := Factors{
		Lexical:   lexical,
		Relevance: r.Relevance(semantic, lexical),
		Kind:      r.Kind[s.Kind],
		Freshness: r.FreshnessFactor(now.Sub(s.ConfirmedAt)),
		Citation:  r.CitationFactor(s.Citations),
		Ignored:   1, Doubt: 1, Trust: 1,
	}
	if semantic != nil {
		f.Semantic = max(0, *semantic)
	}
	if s.Citations == 0 && s.IgnoredBy >= r.IgnoredFrom {
		f.Ignored = r.Ignored
	}
	if s.Doubted {
		f.Doubt = r.Doubt
	}
	if s.Unreviewed {
		f.Trust = r.Unreviewed
	}
	return f
}

// Relevance blends meaning and words; without a vector on either side it is the words alone.
func (r Ranking) Relevance(semantic *float64, lexical float64) float64 {
	if semantic == nil {
		return lexical
	}
	// The conversions keep compilers from fusing the sum, so that every machine agrees with the database.
	return float64(r.SemanticWeight*max(0, *semantic)) + float64(r.LexicalWeight*lexical)
}

// Freshness is f = 2^(−age / half-life), 0..1: what the map shows. A memory confirmed in the future is fresh.
func (r Ranking) Freshness(age time.Duration) float64 {
	return math.Exp2(-float64(max(0, age)) / float64(r.HalfLife))
}

// FreshnessFactor is the multiplier, from FreshnessRest to 1.
func (r Ranking) FreshnessFactor(age time.Duration) float64 {
	return r.FreshnessRest + float64((1-r.FreshnessRest)*r.Freshness(age))
}

// CitationFactor is the multiplier of c distinct citing sessions, from 1 to 1 + CitationGain.
func (r Ranking) CitationFactor(c int) float64 {
	share := math.Log(1+float64(max(0, c))) / math.Log(1+float64(r.CitationFull))
	return 1 + float64(r.CitationGain*min(1, share))
}

// Held is the relevance with what speaks against the memory: by how much of it its advantages count (Ranking.AdvantagePower).
func (f Factors) Held() float64 { return f.Relevance * f.Ignored * f.Doubt * f.Trust }

// Advantage is the share of its kind's and freshness's advantage that a result with held has where best is the most.
func (r Ranking) Advantage(held, best float64) float64 {
	if best <= 0 || held >= best {
		return 1
	}
	return math.Pow(held/best, r.AdvantagePower)
}

// Among gives the factors of a memory that is one of the results of a query, of which best is the most Held.
func (r Ranking) Among(f Factors, best float64) Factors {
	share, least := r.Advantage(f.Held(), best), r.LeastKind()
	f.Kind = least + float64(share*(f.Kind-least))
	f.Freshness = r.FreshnessRest + float64(share*(f.Freshness-r.FreshnessRest))
	return f
}

// LeastKind is the weight of the kind that has no advantage.
func (r Ranking) LeastKind() float64 {
	least := math.Inf(1)
	for _, k := range Kinds {
		least = min(least, r.Kind[k])
	}
	return least
}

// Score is the product of the factors.
func (f Factors) Score() float64 {
	return f.Relevance * f.Kind * f.Freshness * f.Citation * f.Ignored * f.Doubt * f.Trust
}

// IDF weighs a word by how few of n memories have it. It is positive also for a word that all have, and finite for one
// that none has.
func IDF(n, df int) float64 {
	return math.Log(1 + (float64(max(0, n-df))+0.5)/(float64(max(0, df))+0.5))
}

// weightUnit makes whole numbers of IDF weights. Whole numbers add up the same in every order, so that a database, which
// sums in any order, and this program agree to the last bit; 2^-32 is far below the 1e-9 that scores are held to, and
// sums of thousands of words stay exact in a float64.
const weightUnit = 1 << 32

// Word is a distinct term of a query that occurs in what the recall may see.
type Word struct {
	Term   string
	DF     int   // memories that have it
	Weight int64 // IDF in units of weightUnit
}

// Words are the terms of a query, weighed over everything the recall may see before narrowing.
type Words struct {
	Terms []Word // those that occur, rarest first, at most Ranking.MaxTerms
	Seen  int64  // their weight together
	All   int64  // with the terms that occur nowhere
}

// Weigh gives each term its weight among n memories. df holds how many have it, in the order of terms.
func (r Ranking) Weigh(terms []string, n int, df []int) Words {
	var w Words
	unseen := scaledIDF(n, 0)
	for i, t := range terms {
		if df[i] > 0 {
			w.Terms = append(w.Terms, Word{Term: t, DF: df[i], Weight: scaledIDF(n, df[i])})
		} else {
			w.All += unseen
		}
	}
	slices.SortStableFunc(w.Terms, func(a, b Word) int { return cmp.Compare(a.DF, b.DF) })
	w.Terms = w.Terms[:min(len(w.Terms), r.MaxTerms)]
	for _, t := range w.Terms {
		w.Seen += t.Weight
	}
	w.All += w.Seen
	return w
}

func scaledIDF(n, df int) int64 { return int64(math.Round(IDF(n, df) * weightUnit)) }

// Lexical is the share of the weight of the words that occur; 0 when none does.
func (w Words) Lexical(matched int64) float64 {
	if w.Seen == 0 {
		return 0
	}
	return float64(matched) / float64(w.Seen)
}

// Coverage is the share of the weight of all words, so that one incidental word proves nothing.
func (w Words) Coverage(matched int64) float64 {
	if w.All == 0 {
		return 0
	}
	return float64(matched) / float64(w.All)
}

// Candidate is a memory that a search found, with the raw evidence that Factors needs.
type Candidate struct {
	ID       uuid.UUID
	Handle   string
	Distance int // steps in the model from the element the recall was narrowed to
	Evidence
	Standing
}

// Evidence is what speaks for a memory's relevance to a query.
type Evidence struct {
	Matched int64    // weight of the query's words it has
	Cosine  *float64 // of the vectors, nil when either has none
}

// ranked is a candidate with its score.
type ranked struct {
	Candidate
	Factors
	score float64
}

// rank scores candidates and orders them.
func (s Search) rank(found []Candidate) []ranked {
	out := make([]ranked, len(found))
	for i, c := range found {
		out[i] = ranked{Candidate: c, Factors: s.factors(c)}
	}
	s.order(out)
	return out
}

// order scores by the factors of each alone and sorts: score, nearer element, newer confirmed_at, handle.
func (s Search) order(out []ranked) {
	for i := range out {
		out[i].Factors = s.among(out[i].Factors)
		out[i].score = out[i].Score()
	}
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score),
			cmp.Compare(a.Distance, b.Distance),
			b.ConfirmedAt.Compare(a.ConfirmedAt),
			strings.Compare(a.Handle, b.Handle),
		)
	})
}

// among gives the factors of one of the results. Without a query there is no relevance to go by, and each has its own in full.
func (s Search) among(f Factors) Factors {
	if s.Browse {
		return f
	}
	return s.Ranking.Among(f, s.Best)
}

// best is the most Held of the results of a search.
func (s Search) best(found []Candidate) float64 {
	best := 0.0
	for _, c := range found {
		best = max(best, s.Held(c))
	}
	return best
}

// factors takes the score of a candidate apart, as if it were the best. Without a query every memory is relevant.
func (s Search) factors(c Candidate) Factors {
	if s.Browse {
		f := s.Ranking.Factors(nil, 1, c.Standing, s.At)
		f.Lexical = 0
		return f
	}
	return s.Ranking.Factors(c.Cosine, s.Words.Lexical(c.Matched), c.Standing, s.At)
}

// Near gives the relevance of a memory and whether it is, by coverage of all words, above the floor that belongs to how it
// was found. What is not near is no result, whatever else there is.
func (s Search) Near(e Evidence) (relevance float64, ok bool) {
	floor := s.Ranking.LexicalFloor
	if e.Cosine != nil {
		floor = s.ModelFloor
	}
	relevance = s.Ranking.Relevance(e.Cosine, s.Words.Lexical(e.Matched))
	return relevance, relevance > 0 && s.Ranking.Relevance(e.Cosine, s.Words.Coverage(e.Matched)) >= floor
}

// relevant keeps the candidates that are near the query and within Share of the best of those.
func (s Search) relevant(found []Candidate) []Candidate {
	if s.Browse {
		return found
	}
	best := 0.0
	near := slices.DeleteFunc(slices.Clone(found), func(c Candidate) bool {
		relevance, ok := s.Near(c.Evidence)
		if ok {
			best = max(best, relevance)
		}
		return !ok
	})
	return slices.DeleteFunc(near, func(c Candidate) bool { return s.factors(c).Relevance < s.Share()*best })
}
