package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
	"unicode"

	"github.com/stele-dev/stele/internal/problem"
)

// MaxRetryBytes bounds an idempotency key.
const MaxRetryBytes = 255

// AnswerLife is how long a retry is given the first answer: longer than any client goes on trying.
const AnswerLife = 24 * time.Hour

// Answer is what a write under an idempotency key was answered.
type Answer struct {
	Key  [sha256.Size]byte // of the caller and the key
	At   time.Time
	Body []byte // JSON of a kept; nil once a memory of the organization was erased
}

// kept is an answer with the request it is for. Both are sealed: a bare digest would let whoever holds the database test
// guesses of a text, also of one that was private or has been erased.
type kept struct {
	Request []byte          `json:"request"` // SHA-256
	Answer  json.RawMessage `json:"answer"`
}

// answerView reads what writes were answered.
type answerView interface {
	// Answered finds the answer under a key.
	Answered(ctx context.Context, key [sha256.Size]byte) (Answer, bool, error)
}

// answers is the part of a transaction that remembers what writes were answered.
type answers interface {
	// Answer keeps an answer, in the transaction of the write that it is about.
	Answer(ctx context.Context, a Answer) error
}

// checkRetry refuses idempotency keys that cannot be told apart for sure.
func (c Caller) checkRetry() error {
	for _, r := range c.Retry {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return problem.Invalidf("Idempotency-Key", "it has characters other than printable ASCII").Fix("send a UUID")
		}
	}
	if len(c.Retry) > MaxRetryBytes {
		return problem.Invalidf("Idempotency-Key", "%d bytes are over the limit of %d", len(c.Retry), MaxRetryBytes).Fix("send a UUID")
	}
	return nil
}

// retryKey is what an idempotency key is kept as: keys of different callers and projects are different keys.
func (c Caller) retryKey() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.User, c.Project, c.Retry))
}

// once runs a write that answers with *out. Under an idempotency key it runs the first time only: write and answer are
// stored by one transaction, so a retry after a lost connection finds both or neither. The same key with another request
// is refused, for one of the two would get an answer that is not its own.
func once[T any](ctx context.Context, tx Tx, c Caller, now time.Time, verb Verb, request any, out *T, write func() error) error {
	if c.Retry == "" {
		return write()
	}
	if done, err := answered(ctx, tx, c, verb, request, out); err != nil || done {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	answer, err := json.Marshal(out)
	if err != nil {
		return err
	}
	digest, err := digestOf(verb, request)
	if err != nil {
		return err
	}
	body, err := json.Marshal(kept{digest, answer})
	if err != nil {
		return err
	}
	return tx.Answer(ctx, Answer{Key: c.retryKey(), At: now, Body: body})
}

// answered gives the answer of an earlier attempt, if there was one.
func answered(ctx context.Context, v answerView, c Caller, verb Verb, request, out any) (bool, error) {
	if c.Retry == "" {
		return false, nil
	}
	before, found, err := v.Answered(ctx, c.retryKey())
	if err != nil || !found {
		return false, err
	}
	if before.Body == nil {
		return false, problem.New(problem.Conflict, "Idempotency-Key", "a request under this key was carried out, and its answer is there no more: "+
			"a memory was erased, or the keys are others",
			"look with list or recall; do not send it again under another key")
	}
	var k kept
	if err := json.Unmarshal(before.Body, &k); err != nil {
		return false, fmt.Errorf("stored answer: %w", err)
	}
	digest, err := digestOf(verb, request)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(k.Request, digest) {
		return false, problem.New(problem.Conflict, "Idempotency-Key", "this key was used for another request", "use a new key for a new request")
	}
	return true, json.Unmarshal(k.Answer, out)
}

// digestOf stands for a request.
func digestOf(verb Verb, request any) ([]byte, error) {
	asked, err := json.Marshal(struct {
		Verb    Verb `json:"verb"`
		Request any  `json:"request"`
	}{verb, request})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(asked)
	return digest[:], nil
}
