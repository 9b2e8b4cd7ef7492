package remote

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
)

// hurriedly is a time in which a call is tried once, and long enough for a slow machine.
const hurriedly = hurry - time.Second

func TestAnswersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	ones := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	item := func(index int, vector string) string {
		return fmt.Sprintf(`{"index":%d,"embedding":%s}`, index, vector)
	}
	list := func(items ...string) string { return `{"data":[` + strings.Join(items, ",") + `]}` }
	lines := map[string]struct{ body, says string }{
		"nothing":              {``, "not JSON"},
		"a web page":           {`<!doctype html><title>Sign in</title>`, "web page"},
		"an error with 200":    {`{"error":{"message":"model is loading"}}`, "0 vectors came for 2 texts"},
		"another form":         {`[[1,2],[3,4]]`, "not of the form"},
		"too few":              {list(item(0, "[1,2]")), "1 vectors came for 2 texts"},
		"too many":             {list(item(0, "[1,2]"), item(1, "[1,2]"), item(2, "[1,2]")), "3 vectors came for 2 texts"},
		"one index twice":      {list(item(1, "[1,2]"), item(1, "[2,1]")), "index 1 is out of place"},
		"an index beyond":      {list(item(0, "[1,2]"), item(2, "[2,1]")), "index 2 is out of place"},
		"a negative index":     {list(item(-1, "[1,2]"), item(0, "[2,1]")), "index -1 is out of place"},
		"an index on one only": {list(item(0, "[1,2]"), `{"embedding":[2,1]}`), "1 of 2 vectors have an index"},
		"no vector":            {list(item(0, "[1,2]"), `{"index":1}`), "not an array"},
		"null":                 {list(item(0, "[1,2]"), item(1, "null")), "not an array"},
		"base64":               {list(item(0, "[1,2]"), item(1, `"AACAPwAAgD8="`)), "not an array"},
		"words":                {list(item(0, "[1,2]"), item(1, `["1","2"]`)), "not an array"},
		"arrays of arrays":     {list(item(0, "[[1,2]]"), item(1, `[[1],[2]]`)), "not an array"},
		"two lengths":          {list(item(0, "[1,2]"), item(1, "[1,2,3]")), "has 3 numbers, and those before had 2"},
		"an empty vector":      {list(item(0, "[]"), item(1, "[ ]")), "0 numbers"},
		"a vector too long":    {list(item(0, ones(MaxDimensions+1)), item(1, ones(MaxDimensions+1))), "4001 numbers"},
		"without end":          {list(item(0, "[1,2]"), item(1, "[1,2]")) + strings.Repeat(" ", 2*maxAnswerEach+maxAnswerRest), "longer than"},
	}
	for name, c := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(w http.ResponseWriter, _ asked) {
				if strings.HasPrefix(c.body, "<") {
					w.Header().Set("Content-Type", "text/html; charset=utf-8")
				}
				fmt.Fprint(w, c.body)
			}}
			p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL, Timeout: hurriedly})
			vectors, err := p.Embed(t.Context(), []string{"a", "b"})
			wantDetail(t, err, c.says)
			if vectors != nil || len(f.requests()) != 1 {
				t.Errorf("vectors %v after %d requests, want none after one", vectors, len(f.requests()))
			}
		})
	}
}

// A provider can change its model under the same name, between two calls.
func TestDimensionsStay(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	n.Store(3)
	f := &fake{answer: func(w http.ResponseWriter, _ asked) {
		v := make([]int, n.Load())
		v[0] = 1
		writeJSON(w, map[string]any{"embeddings": [][]int{v}})
	}}
	p := provider(t, NewOllama, Options{URL: serve(t, f).URL, Timeout: hurriedly})
	if err := one(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	n.Store(4)
	err := one(t.Context(), p)
	wantDetail(t, err, "a vector has 4 numbers, and those before had 3")
	if !problem.Is(err, problem.Invalid) {
		t.Error("waiting does not help, so it is not Unavailable")
	}
	asked := provider(t, NewOpenAI, Options{URL: serve(t, &fake{answer: answerOpenAI}).URL, Dimensions: 2, Timeout: hurriedly})
	wantDetail(t, one(t.Context(), asked), "a vector has 3 numbers, and 2 were asked for")
}

// What has no direction is no vector, and no reason to lose the others.
func TestVectorsWithoutDirection(t *testing.T) {
	t.Parallel()
	for _, vector := range []string{"[0,0,0]", "[0.0,-0.0,0e9]", "[1,null,2]", "[1e999,1,1]", "[NaN,1,1]", "[1,Infinity,1]", "[-Infinity,0,0]"} {
		f := &fake{answer: func(w http.ResponseWriter, a asked) {
			items := make([]string, len(a.Input))
			for i, text := range a.Input {
				d := direction(text)
				v := fmt.Sprintf("[%v,%v,%v]", d[0], d[1], d[2])
				if text == "bad" {
					v = vector
				}
				items[i] = fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, v)
			}
			fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(items, ", "))
		}}
		p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL, Timeout: hurriedly})
		for _, texts := range [][]string{{"bad"}, {"good", "bad", "fine"}} {
			vectors, err := p.Embed(t.Context(), texts)
			if err != nil {
				t.Errorf("%s: %v", vector, err)
				continue
			}
			for i, v := range vectors {
				if texts[i] == "bad" && v != nil || texts[i] != "bad" && !like(v, texts[i]) {
					t.Errorf("%s: %q has %v", vector, texts[i], v)
				}
			}
		}
	}
}

// A model that is broken gives every text such a vector. That is not a matter of the text.
func TestNoDirectionForAnyText(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(w http.ResponseWriter, _ asked) { fmt.Fprint(w, `{"embeddings":[[0,0]]}`) }}
	p := provider(t, NewOllama, Options{URL: serve(t, f).URL, Timeout: hurriedly})
	wantDetail(t, one(t.Context(), p), "vectors without direction, to every text")
}

func TestAnswersThatAreDeclined(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		body        string
		code        problem.Code
		field, says string
	}{
		"wrong key":           {401, `{"error":{"code":"invalid_api_key","type":"invalid_request_error"}}`, problem.Invalid, keySetting, "401 (invalid_api_key)"},
		"forbidden":           {403, ``, problem.Invalid, keySetting, "403"},
		"no credit":           {402, `{"error":{"code":402}}`, problem.Invalid, keySetting, "no credit"},
		"no such model":       {404, `{"error":"model \"m\" not found, try pulling it first"}`, problem.Invalid, urlSetting, "ollama pull m"},
		"elsewhere":           {301, ``, problem.Invalid, urlSetting, "points elsewhere"},
		"refuses all":         {400, `{"error":"m does not support embeddings"}`, problem.Invalid, modelSetting, "400, to every text"},
		"a teapot":            {418, ``, problem.Invalid, "embedding", "418"},
		"limited":             {429, `{"error":{"type":"rate_limit_error"}}`, problem.Unavailable, "embedding", "429 (rate_limit_error)"},
		"broken":              {500, `oops`, problem.Unavailable, "embedding", "500"},
		"behind a dead proxy": {502, `<html>`, problem.Unavailable, "embedding", "502"},
		"overloaded":          {529, ``, problem.Unavailable, "embedding", "529"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: func(w http.ResponseWriter, _ asked) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}}
			p := provider(t, NewOllama, Options{URL: serve(t, f).URL, Timeout: hurriedly})
			err := one(t.Context(), p)
			wantDetail(t, err, c.says)
			if got, ok := problem.As(err); !ok || got.Code != c.code || got.Field != c.field || len(got.Fixes) == 0 {
				t.Errorf("got %#v, want %s of %s with a fix", err, c.code, c.field)
			}
		})
	}
}

// On the way to an answer, a provider dies in every way.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	closed := listen(t)
	closed.Close()
	hijack := func(bytes string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, bytes)
			conn.Close()
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"closed port":      nil,
		"no word":          hijack(""),
		"no HTTP":          hijack("220 mail.example ESMTP\r\n"),
		"half a header":    hijack("HTTP/1.1 200 OK\r\nContent-Ty"),
		"half an answer":   hijack("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"embeddings\":[[1,2"),
		"half a chunk":     hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n{\"embeddings\":[[1,2"),
		"headers for ever": hijack("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: "+strings.Repeat("a", 1000)+"\r\n", 100)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "http://" + closed.Addr().String()
			if h != nil {
				s := httptest.NewServer(h)
				t.Cleanup(s.Close)
				url = s.URL
			}
			p := provider(t, NewOllama, Options{URL: url, Timeout: hurriedly})
			err := one(t.Context(), p)
			wantDetail(t, err, "no answer")
			if !problem.Is(err, problem.Unavailable) || strings.Contains(err.Error(), "/api/embed") {
				t.Errorf("got %v, want Unavailable that names the host alone", err)
			}
		})
	}
}

func TestNormalised(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Float64(), 1, 50).Draw(t, "numbers")
		v := normalised(numbers)
		if v == nil {
			for _, x := range numbers {
				if x != 0 && !math.IsNaN(x) && !math.IsInf(x, 0) {
					continue
				}
				return // some are no numbers, or all zero
			}
			t.Fatalf("%v has a direction and no vector", numbers)
		}
		sum := 0.0
		for i, x := range v {
			sum += float64(x) * float64(x)
			if math.Signbit(float64(x)) != math.Signbit(numbers[i]) {
				t.Fatalf("%v points elsewhere at %d", v, i)
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("the square of the length is %v", sum)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[ 1e-3 , -2E+3 ]}]}`, `{"data":[{"embedding":[1]},{"embedding":[null]}]}`,
		`{"embeddings":[[1,2],[0,0]]}`, `{"embeddings":[[],{}]}`, `{"embeddings":[null,"[1,2]"]}`, `{"data":{"0":[1]}}`, `[NaN]`, `{"embeddings":[["a,b"],[1]]}`,
	} {
		f.Add(body)
	}
	makers := []func(Options) (*Provider, error){NewOpenAI, NewOllama}
	f.Fuzz(func(t *testing.T, body string) {
		for _, makeIt := range makers {
			p := provider(t, makeIt, Options{})
			vectors, failed := p.read(&http.Response{StatusCode: http.StatusOK}, []byte(body), 2)
			if failed != nil {
				if vectors != nil || failed.problem.Detail == "" {
					t.Errorf("a failure with %v and the words %q", vectors, failed.problem.Detail)
				}
				continue
			}
			for _, v := range vectors {
				sum := 0.0
				for _, x := range v {
					sum += float64(x) * float64(x)
				}
				if v != nil && (math.Abs(sum-1) > 1e-5 || len(v) != int(p.dimensions.Load())) {
					t.Errorf("%v is not of length 1, or has not %d numbers", v, p.dimensions.Load())
				}
			}
		}
	})
}
