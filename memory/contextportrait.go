package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory/terms"
)

// portrait is what the model says of an element, as a task is compared with it.
type portrait struct {
	element  Element
	patterns []string          // globs of its bindings
	fields   map[string]string // field in which each word stands first
	text     string            // whose meaning counts
	kept     bool              // what the encoder makes of the text is known
	cosine   *float64          // of the vectors of task and text; nil when either has none
}

// portraits are those of the elements in scope, in order of declaration.
type portraits struct {
	list []portrait
}

const (
	// nameField is the field whose words count in full: names are chosen to be found by.
	nameField = "name"
	// besideName is what a word counts in any other. Between 0.6 and 1 nothing changes (docs/context.md).
	besideName = 0.8
	// maxPortraitBytes bounds the text whose meaning counts: encoders of sentences look at some 700 bytes.
	maxPortraitBytes = 1000
	// restBase holds down what counts as common to all elements where there are few: as if that many more had nothing in
	// common with the task.
	restBase = 3
)

// portraits draws the elements of a project and compares them with the vector of a query, if it has one.
func (s *Service) portraits(ctx context.Context, v View, project uuid.UUID, q query) (portraits, error) {
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return portraits{}, err
	}
	bindings, err := v.Bindings(ctx, project)
	if err != nil {
		return portraits{}, err
	}
	relationships, err := v.Relationships(ctx, project)
	if err != nil {
		return portraits{}, err
	}
	patterns := map[uuid.UUID][]string{}
	for _, b := range bindings {
		patterns[b.ElementID] = append(patterns[b.ElementID], b.Pattern)
	}
	related := relatedTo(elements, relationships)
	var out portraits
	for _, e := range elements {
		if e.InScope {
			out.list = append(out.list, draw(e, patterns[e.ID], related[e.Key]))
		}
	}
	if q.model == "" {
		for i := range out.list {
			out.list[i].kept = true // nothing is to be made of it
		}
		return out, nil
	}
	vectors, err := v.ElementVectors(ctx, project, q.model, q.vector)
	if err != nil {
		return portraits{}, fmt.Errorf("vectors of elements: %w", err)
	}
	for i := range out.list {
		p := &out.list[i]
		if x, ok := vectors[p.element.ID]; ok && slices.Equal(x.TextHash, p.hash()) {
			p.kept, p.cosine = true, x.Cosine
		}
	}
	return out, nil
}

// lacking counts the elements whose meaning takes no part yet.
func (m portraits) lacking() int {
	n := 0
	for _, p := range m.list {
		if !p.kept {
			n++
		}
	}
	return n
}

// relatedTo says in words what each element has to do with others: what it does to them, with their names, and what is done
// to it. Who does it says little about the element.
func relatedTo(elements []Element, relationships []c4model.Relationship) map[string][]string {
	names := make(map[string]string, len(elements))
	for _, e := range elements {
		names[e.Key] = e.Name
	}
	out := map[string][]string{}
	add := func(key, text string) {
		if !slices.Contains(out[key], text) {
			out[key] = append(out[key], text)
		}
	}
	for _, r := range relationships {
		if r.Description != "" {
			add(r.Source, r.Description+" "+names[r.Destination])
			add(r.Destination, r.Description)
		}
	}
	return out
}

func draw(e Element, patterns, related []string) portrait {
	p := portrait{element: e, patterns: patterns, fields: map[string]string{}}
	relationships := strings.Join(related, ". ")
	for _, f := range []struct{ field, text string }{
		{nameField, e.Name}, {nameField, e.Key}, {"description", e.Description}, {"technology", e.Technology},
		{"tag", strings.Join(e.Tags, "\n")}, {"path", strings.Join(patterns, "\n")}, {"relationship", relationships},
	} {
		for _, term := range terms.Of(f.text) {
			if p.fields[term] == "" {
				p.fields[term] = f.field
			}
		}
	}
	p.text = strings.Join(terms.Parts(e.Name), " ")
	for _, more := range []string{e.Description, relationships} {
		if more = strings.TrimSpace(more); more != "" {
			p.text += ". " + more
		}
	}
	p.text = cutBytes(p.text, maxPortraitBytes)
	return p
}

// hash tells whether a vector is of this very text.
func (p *portrait) hash() []byte {
	sum := sha256.Sum256([]byte(p.text))
	return sum[:]
}

// weigh gives the words of a task their weights, by how few elements have them.
func (m portraits) weigh(r Ranking, task []string) Words {
	df := make([]int, len(task))
	for i, term := range task {
		for _, p := range m.list {
			if p.fields[term] != "" {
				df[i]++
			}
		}
	}
	return r.Weigh(task, len(m.list), df)
}

// base is the cosine that says nothing: that of the task with what it has to do with no more than with any other element.
// Short texts are alike to a good third whatever they say, and how much depends on the encoder and on the model; what
// stands out of it counts.
func (m portraits) base() float64 {
	sum, n := 0.0, 0
	for _, p := range m.list {
		if p.cosine != nil {
			sum += max(0, *p.cosine)
			n++
		}
	}
	return sum / float64(n+restBase)
}

// relevance blends meaning and words, and gives the reasons in words. Words count by their share of all words of the task, so that
// one incidental word does not outweigh everything else.
func (p *portrait) relevance(r Ranking, words Words, base float64) (relevance float64, reasons []string) {
	matched := 0.0
	found := map[string][]string{}
	var order []string
	for _, w := range words.Terms {
		field := p.fields[w.Term]
		if field == "" {
			continue
		}
		weight := float64(w.Weight)
		if field != nameField {
			weight *= besideName
		}
		matched += weight
		if found[field] == nil {
			order = append(order, field)
		}
		found[field] = append(found[field], w.Term)
	}
	for _, field := range order {
		reasons = append(reasons, field+": "+strings.Join(found[field], ", "))
	}
	lexical := 0.0
	if words.All > 0 {
		lexical = matched / float64(words.All)
	}
	if p.cosine == nil {
		return r.Relevance(nil, lexical), reasons
	}
	semantic := max(0, *p.cosine-base) / (1 - base)
	if semantic > 0 {
		reasons = append(reasons, fmt.Sprintf("meaning: close to what the model says of it %.2f (%.2f is usual here)", *p.cosine, base))
	}
	return r.Relevance(&semantic, lexical), reasons
}
