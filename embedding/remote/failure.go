package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// failure is why one request brought no vectors.
type failure struct {
	problem *problem.Error
	again   bool          // the same request may succeed a moment later
	after   time.Duration // when the provider wants to be asked again; 0 when it does not say
	refused bool          // the provider works and does not take these texts
	silent  bool          // tells nothing of the provider: there was no turn, or the caller gave up
}

func (f *failure) Error() string { return f.problem.Error() }
func (f *failure) Unwrap() error { return f.problem }

// counts tells whether the breaker counts it.
func (f *failure) counts() bool { return !f.refused && !f.silent }

// final gives what the caller sees. A refusal stays what it is, for whoever cuts batches.
func (f *failure) final(tries int) error {
	switch {
	case f == nil:
		return nil
	case f.refused:
		return f
	case tries < 2:
		return f.problem
	}
	p := *f.problem
	p.Detail += fmt.Sprintf(" (tried %d times)", tries)
	return &p
}

func isRefusal(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.refused
}

// whenAway is what can be done about a provider that is away.
const whenAway = "start it, or wait until it is back: until then texts are found by words, and vectors are filled in later"

// away is a failure of the provider that may pass.
func (p *Provider) away(detail string, cause error) *failure {
	return &failure{again: true, problem: problem.New(problem.Unavailable, "embedding", p.host+": "+detail, whenAway).Because(cause)}
}

// wrong is a failure that stays until somebody changes a setting.
func (p *Provider) wrong(setting, detail, fix string) *failure {
	return &failure{problem: problem.New(problem.Invalid, setting, p.host+": "+detail, fix)}
}

// busy is the failure of a call whose turn did not come.
func (p *Provider) busy(cause error) *failure {
	f := p.away("all turns were taken, and none came free in time", cause)
	f.silent, f.again = true, false
	return f
}

// gaveUp is what a caller hears who did not wait for the answer.
func (p *Provider) gaveUp(cause error) error {
	return fmt.Errorf("asking %s for vectors: %w", p.host, cause)
}

// unsent explains why no answer came. Errors of net/http hold the address, and only that is left out.
func (p *Provider) unsent(ctx context.Context, err error) *failure {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	switch ended := ctx.Err(); {
	case errors.Is(ended, context.Canceled):
		f := p.away("the caller gave up", ended)
		f.silent, f.again = true, false
		return f
	case ended != nil:
		return p.away("it did not answer in time", ended)
	}
	return p.away("no answer: "+err.Error(), err)
}

// declined explains an answer that holds no vectors. What the provider wrote is not repeated, as it may quote texts and key;
// only its code is, when it is one word.
//
// A bad request, one that is too large and one that cannot be processed may lie in the texts. So may NaN: Ollama fails on a
// text for which its model computes it, with 500.
func (p *Provider) declined(resp *http.Response, answer []byte) *failure {
	said := fmt.Sprintf("it answered %d", resp.StatusCode)
	if code := codeOf(answer); code != "" {
		said += " (" + code + ")"
	}
	switch s := resp.StatusCode; {
	case s == http.StatusBadRequest, s == http.StatusRequestEntityTooLarge, s == http.StatusUnprocessableEntity,
		s == http.StatusInternalServerError && bytes.Contains(answer, []byte("unsupported value: NaN")):
		return p.refusal(said)
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return p.wrong(keySetting, said+" to the key", "set "+keySetting+" to a key of this provider that may use the model")
	case s == http.StatusPaymentRequired:
		return p.wrong(keySetting, said+", the account has no credit", "see to the account of the key")
	case s == http.StatusNotFound, s == http.StatusMethodNotAllowed:
		return p.wrong(urlSetting, said+": no such address, or no such model", p.api.missing())
	case s >= 300 && s < 400:
		return p.wrong(urlSetting, said+", which points elsewhere", "set "+urlSetting+" to where it points, if that is to get texts and key")
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		f := p.away(said, nil)
		f.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		return f
	}
	return p.wrong("embedding", said, "see the log of the provider")
}

// word is what a code of a provider must look like to be shown.
var word = regexp.MustCompile(`^[a-z][a-z_]{2,47}$`)

// codeOf finds the code of an answer in the form of OpenAI's API; "" when it has none.
func codeOf(answer []byte) string {
	var e struct {
		Error struct {
			Code any    `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &e) != nil {
		return ""
	}
	if code, ok := e.Error.Code.(string); ok && word.MatchString(code) {
		return code
	}
	if word.MatchString(e.Error.Type) {
		return e.Error.Type
	}
	return ""
}

// refusal is a failure that lies in the texts, or would.
func (p *Provider) refusal(detail string) *failure {
	f := p.wrong(modelSetting, detail, "check that the model makes embeddings, and that it has the dimensions asked for")
	f.refused = true
	return f
}

// strange is an answer that cannot be believed.
func (p *Provider) strange(format string, args ...any) *failure {
	f := p.away("its answer cannot be used: "+fmt.Sprintf(format, args...), nil)
	f.problem.Fixes = []string{"check that " + urlSetting + " is the address of the API, such as " + p.api.base()}
	f.again = false
	return f
}

// retryAfter reads the header: seconds, or a date. 0 or less when it asks for no wait, is absent or makes no sense.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(now)
	}
	return 0
}
