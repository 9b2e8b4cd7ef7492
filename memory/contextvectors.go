package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// elementVectorView reads the vectors of elements.
type elementVectorView interface {
	// ElementVectors gives what is kept of the live elements of a project under a model, with the cosine of a vector of that
	// model; nil compares nothing.
	ElementVectors(ctx context.Context, project uuid.UUID, model string, vector []float32) (map[uuid.UUID]ElementVector, error)
}

// elementVectorTx keeps the vectors of elements.
type elementVectorTx interface {
	// SaveElementVectors replaces the vectors of elements, by those of a model.
	SaveElementVectors(ctx context.Context, model string, vectors []NewElementVector) error
}

// ElementVector is what is kept of an element's text.
type ElementVector struct {
	TextHash []byte   // of the text it was made of: another text means that it is out of date
	Cosine   *float64 // with the vector that was asked with; nil without one, and when the model refused the text
}

// NewElementVector is a vector to keep; Vector is nil when the model refused the text.
type NewElementVector struct {
	Element  uuid.UUID
	TextHash []byte
	Vector   []float32
}

const (
	// elementBatch is how many texts are embedded and stored at once: the built-in encoder takes a fifth of a second for them at most,
	// so that a question that has but Options.EmbedWait to fill in what is missing gets ahead.
	elementBatch = 16
	// importWait bounds what an import of a model waits for vectors of its elements. An import takes seconds anyway, and the built-in
	// encoder fills some hundreds meanwhile; the rest follows with questions and upkeep.
	importWait = 2 * time.Second
)

// withVectors asks, and asks again when elements lacked vectors that could be made within the wait. Best effort: without
// vectors elements are found by words.
func (s *Service) withVectors(ctx context.Context, c Caller, ask func(View) (lacking int, err error)) error {
	lacking := 0
	once := func(v View) (err error) {
		lacking, err = ask(v)
		return err
	}
	err := s.view(ctx, c, once)
	if err != nil || lacking == 0 || s.embedElements(ctx, c.Org, c.Project, s.wait) == 0 {
		return err
	}
	return s.view(ctx, c, once)
}

// embedElements makes the vectors that elements of a project lack, within a wait, and tells how many it stored.
func (s *Service) embedElements(ctx context.Context, org, project uuid.UUID, wait time.Duration) int {
	if s.embedder.Model() == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	n, _ := s.fillElements(ctx, org, project) // what is missing is told with each answer, and made later
	return n
}

// BackfillElements gives vectors of the configured model to the elements of an organization that have none of their current
// text. Several processes may do so at once. It ends with the provider's error when that is away.
func (s *Service) BackfillElements(ctx context.Context, org uuid.UUID) (int, error) {
	if s.embedder.Model() == "" {
		return 0, nil
	}
	projects, err := s.store.Projects(ctx, org)
	if err != nil {
		return 0, fmt.Errorf("vectors of elements: %w", err)
	}
	total := 0
	for _, p := range projects {
		n, err := s.fillElements(ctx, org, p.ID)
		total += n
		if err != nil {
			return total, fmt.Errorf("vectors of elements of %s: %w", p.ID, err)
		}
	}
	return total, nil
}

// fillElements makes the vectors that elements of a project lack, batch by batch.
func (s *Service) fillElements(ctx context.Context, org, project uuid.UUID) (stored int, err error) {
	model := s.embedder.Model()
	var lacking []portrait
	err = s.store.View(ctx, org, func(v View) error {
		m, err := s.portraits(ctx, v, project, query{model: model})
		lacking = slices.DeleteFunc(m.list, func(p portrait) bool { return p.kept })
		return err
	})
	if err != nil {
		return 0, err
	}
	// Everybody stores in one order, so that two who do never wait for each other in a circle.
	slices.SortFunc(lacking, func(a, b portrait) int { return bytes.Compare(a.element.ID[:], b.element.ID[:]) })
	for batch := range slices.Chunk(lacking, elementBatch) {
		texts := make([]string, len(batch))
		for i := range batch {
			texts[i] = batch[i].text
		}
		vectors, err := s.embedder.Embed(ctx, texts)
		if err == nil && len(vectors) != len(texts) {
			err = fmt.Errorf("the provider gave %d vectors for %d texts", len(vectors), len(texts))
		}
		if err != nil {
			return stored, err
		}
		fresh := make([]NewElementVector, len(batch))
		for i := range batch {
			fresh[i] = NewElementVector{Element: batch[i].element.ID, TextHash: batch[i].hash()}
			if usable(vectors[i]) {
				fresh[i].Vector = vectors[i]
			}
		}
		if err := s.store.Write(ctx, org, nil, func(tx Tx) error { return tx.SaveElementVectors(ctx, model, fresh) }); err != nil {
			return stored, err
		}
		stored += len(batch)
	}
	return stored, nil
}
