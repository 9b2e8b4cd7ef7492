package terms_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/memory/terms"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string // want: terms separated by spaces
	}{
		{"nothing", "", ""},
		{"stop words only", "what is this, and why not?", ""},
		{"stems", "The gateway retries connections", "gateway retri connect"},
		{"irregular forms", "who bought it; the children WENT away", "buy child go away"},
		{"abbreviations", "k8s cfg and dbConn", "k8s k 8 kubernet cfg configur dbconn db databas conn connect"},
		{"contractions", "It doesn't retry; the gateway's timeout can’t change", "retri gateway timeout chang"},
		{"distinct", "Cache the cache, CACHE!", "cach"},
		{"camel case", "idArgumentResolvers", "idargumentresolvers idargumentresolv id argument resolv"},
		{"Pascal case", "OrderProcessor", "orderprocessor order processor"},
		{"acronym first", "HTTPServer", "httpserver http server"},
		{"acronym inside", "parseHTTPRequest", "parsehttprequest pars http request"},
		{"acronym plural", "IDs URLs", "id url"},
		{"digits", "utf8 sha256", "utf8 utf 8 sha256 sha 256"},
		{"snake case", "max_retries", "max_retries max retri"},
		{"constant case", "MAX_BODY_BYTES", "max_body_bytes max bodi byte"},
		{"dunder", "__init__", "init"},
		{"kebab case", "read-through cache", "read read-through cach"},
		{"flag", "--no-verify", "verifi no-verify"},
		{"path", "api/auth/mw.go", "api auth authent author mw.go mw go api/auth/mw.go"},
		{"dotted path", "bank.api.auth", "bank.api.auth bank api auth authent author"},
		{"Windows path", `cmd\stele\main.go`, `cmd command stele main.go main go cmd\stele\main.go`},
		{"URL", "https://example.com/a", "https example.com exampl com https://example.com/a"},
		{"scope operator", "std::vector", "std vector std::vector"},
		{"languages", "C++ and C#, F#", "c c++ c# f f#"},
		{"handle", "m-7k3f9qa", "m 7k3f9qa m-7k3f9qa"},
		{"hash stays whole", "3f2a9bc1d4e5", "3f2a9bc1d4e5"},
		{"version", "v1.2.3", "v1.2.3 1.2.3"},
		{"version in words", "since 1.26.", "sinc 1.26"},
		{"name and version", "Go1.26 node22.1", "go1.26 go 1.26 node22.1 node 22.1"},
		{"decimal", "0.94", "0.94"},
		{"thousands", "1,000,000 rows", "1000000 row"},
		{"unit attached", "5MB", "5mb 5 mb"},
		{"unit apart", "5 MB", "5 mb"},
		{"Chinese", "网关会删除", "网关 关会 会删 删除"},
		{"Chinese alone", "水", "水"},
		{"Chinese and Latin", "使用Redis缓存", "使用 redi 缓存"},
		{"Japanese", "サーバーを再起動", "サー ーバ バー ーを を再 再起 起動"},
		{"half-width Kana", "ｻｰﾊﾞｰ", "サー ーバ バー"},
		{"Korean", "게이트웨이는 재시도", "게이 이트 트웨 웨이 이는 재시 시도"},
		{"Korean particle on Latin", "Redis를", "redi 를"},
		{"Italian", "l'utente perché non può", "l utent perché non può"},
		{"German", "Straße STRASSE größer", "strass grösser"},
		{"Turkish", "İSTANBUL istanbul ısı", "istanbul ısı"},
		{"composed and combining", "café cafe\u0301", "café"},
		{"full width", "Ｇａｔｅｗａｙ ５ＭＢ", "gateway 5mb 5 mb"},
		{"ligature", "ﬁle", "file"},
		{"Greek", "ΟΔΟΣ οδός", "οδοσ οδόσ"},
		{"Cyrillic", "Шлюз шлюз", "шлюз"},
		{"emoji", "🎉 done 👩‍💻👍🏽", "done"},
		{"control characters", "gate\x00way\x07 soft\u00adhyphen", "gateway softhyphen"},
		{"zero width space separates", "gate\u200bway", "gate way"},
		{"line ends", "one\r\ntwo\n\nthree", "one two three"},
		{"SQL", "'; DROP TABLE memories; --", "drop tabl memori"},
		{"operators", `"(*&^ AND -foo OR NEAR/3`, "foo near 3 near/3"},
		{"invalid bytes", "gate\xffway", "gate way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := slices.DeleteFunc(strings.Split(c.want, " "), func(s string) bool { return s == "" })
			got := terms.Of(c.text)
			if len(got) == 0 {
				got = []string{}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
				t.Errorf("Of(%q) differs (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

// What someone asks for must share a term with what was written.
func TestQueriesFindDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, document string }{
		{"retry", "The client retries."},
		{"retries", "Never retry a payment"},
		{"idargumentresolvers", "idArgumentResolvers is unset"},
		{"nodejs", "NodeJS 22"},
		{"order processor", "OrderProcessor"},
		{"OrderProcessors", "the order processor"},
		{"max retries", "max_retries"},
		{"mw.go", "api/auth/mw.go"},
		{"auth", "bank.api.auth"},
		{"5 MB", "bodies over 5MB"},
		{"1.2.3", "since v1.2.3"},
		{"1000", "1,000 rows"},
		{"删除", "网关会删除请求头"},
		{"再起動", "サーバーを再起動する"},
		{"게이트웨이", "게이트웨이는 재시도하지 않는다"},
		{"STRASSE", "Straße"},
		{"istanbul", "İstanbul"},
		{"utente", "l'utente"},
	} {
		document := terms.Of(c.document)
		if !slices.ContainsFunc(terms.Of(c.query), func(q string) bool { return slices.Contains(document, q) }) {
			t.Errorf("%q %q shares no term with %q %q", c.query, terms.Of(c.query), c.document, document)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	if terms.MaxTermBytes != 64 || terms.MaxTerms != 16384 {
		t.Errorf("bounds changed to %d and %d: stored terms would no longer match", terms.MaxTermBytes, terms.MaxTerms)
	}
	long := strings.Repeat("é", 5000)
	a, b := terms.Of(long+"a"), terms.Of(long+"b")
	if len(a) != 1 || len(b) != 1 || a[0] == b[0] || len(a[0]) > terms.MaxTermBytes || !utf8.ValidString(a[0]) {
		t.Errorf("long words give %q and %q; want two different terms of at most %d bytes", a, b, terms.MaxTermBytes)
	}
	if again := terms.Of(long + "a"); !slices.Equal(a, again) {
		t.Errorf("a long word gives %q, then %q", a, again)
	}
	found, more := terms.Limited("alpha beta gamma", 2)
	if !slices.Equal(found, []string{"alpha", "beta"}) || !more {
		t.Errorf("Limited to 2 = %q, %v; want the first two and that there are more", found, more)
	}
	if found, more := terms.Limited("alpha beta alpha", 2); len(found) != 2 || more {
		t.Errorf("Limited to 2 = %q, %v; want both and no more", found, more)
	}
	if found, more := terms.Limited("alpha", 0); len(found) != 0 || !more {
		t.Errorf("Limited to 0 = %q, %v", found, more)
	}
}

// The longest content fits, whatever it is made of.
func TestMaxTermsHoldsTheLongestContent(t *testing.T) {
	t.Parallel()
	var cjk, short strings.Builder
	for i := 0; cjk.Len() < 16384-3; i++ {
		cjk.WriteRune(rune(0x4e00 + i*7%20000))
	}
	for i := 0; short.Len() < 16384-8; i++ {
		fmt.Fprintf(&short, "%x-", i)
	}
	for name, text := range map[string]string{"Han": cjk.String(), "short words": short.String()} {
		if _, more := terms.Limited(text, terms.MaxTerms); more {
			t.Errorf("%s: 16 kB have more than %d terms", name, terms.MaxTerms)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"  The\tGateway \n strips ", "the gateway strips"},
		{"ＧＡＴＥＷＡＹ", "gateway"},
		{"Straße", "strasse"},
		{"İstanbul", "istanbul"},
		{"cafe\u0301", "café"},
		{"gate\u00adway\x00", "gateway"},
		{"user’s", "user's"},
		{"", ""},
		{"\u200b \x07", ""},
	} {
		if got := terms.Fold(c.in); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNormalise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Never push to main.", "never push  to main", true},
		{"The “gateway” strips", `the "gateway" strips`, true},
		{"one\ntwo", "one two", true},
		{"call getID", "call getId", false},
		{"HTTP", "http", false},
		{"never push", "never pull", false},
		{"retry 3 times", "retry 4 times", false},
		{"A queue holds it. A worker takes it.", "a queue holds it. a worker takes it", true},
		{"Plan A holds", "plan a holds", false},
	} {
		if got := terms.Normalise(c.a) == terms.Normalise(c.b); got != c.same {
			t.Errorf("%q and %q: same %v, want %v (%q, %q)", c.a, c.b, got, c.same, terms.Normalise(c.a), terms.Normalise(c.b))
		}
	}
}

// Each piece between spaces has its terms among those of the text, so a memory matches its own words.
func TestTextMatchesItsOwnWords(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9_./:'-]{1,12}`),
		rapid.StringMatching(`[a-zàéßİıΣ水网关サーバ게이트]{1,8}`),
		rapid.SampledFrom([]string{"v1.2.3", "C++", "don't", "5MB", "1,000", "🎉", "HTTPServer"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(word, 1, 12).Draw(t, "fields")
		all := terms.Of(strings.Join(fields, " "))
		for _, field := range fields {
			for _, term := range terms.Of(field) {
				if !slices.Contains(all, term) {
					t.Fatalf("%q of %q is missing in %q of %q", term, field, all, fields)
				}
			}
		}
	})
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"idArgumentResolvers in api/auth/mw.go, v1.2.3", "网关Redis게이트 ｻｰﾊﾞｰ", "İ\u0307ı ß ﬁ \u0345α\u0345", "a\x00\xff'n't' __ :: C++#", "🎉1️⃣\u034f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := terms.Of(text)
		seen := map[string]bool{}
		for _, term := range got {
			if term == "" || len(term) > terms.MaxTermBytes || !utf8.ValidString(term) || strings.ContainsAny(term, " \x00\n") || seen[term] {
				t.Errorf("Of(%q) has the bad term %q", text, term)
			}
			seen[term] = true
		}
		if first, _ := terms.Limited(text, 3); !slices.Equal(first, got[:min(3, len(got))]) {
			t.Errorf("Limited(%q, 3) = %q, which do not begin %q", text, first, got)
		}
		if folded := terms.Fold(text); terms.Fold(folded) != folded || !utf8.ValidString(folded) {
			t.Errorf("Fold(%q) = %q, and again %q", text, folded, terms.Fold(folded))
		}
		if normal := terms.Normalise(text); terms.Normalise(normal) != normal || !utf8.ValidString(normal) {
			t.Errorf("Normalise(%q) = %q, and again %q", text, normal, terms.Normalise(normal))
		}
	})
}

// remembered is ordinary text of 500 bytes.
const remembered = "The gateway strips custom headers longer than 8KB, so the session token has to travel in a cookie. Set `idArgumentResolvers` in " +
	"api/auth/authz.go before the first request; otherwise every handler sees an empty principal and the audit trail records anonymous. " +
	"We measured this on the staging cluster with 300 requests per second: p95 went from 4 ms to 31 ms because the fallback path opens a " +
	"new connection for each lookup. Do not raise max_retries above three without asking the platform team first."

func BenchmarkOf(b *testing.B) {
	for name, text := range map[string]string{
		"remember": remembered,
		"query":    "why does the gateway strip headers longer than 8KB",
		"emoji":    strings.Repeat("👩‍💻🎉", 100_000/15),
		"word":     strings.Repeat("x", 100_000),
		"camel":    strings.Repeat("aB", 50_000),
		"path":     strings.Repeat("a/", 50_000),
		"marks":    "a" + strings.Repeat("\u0301", 50_000),
		"han":      strings.Repeat("网关会删除请求头", 100_000/24),
		"quotes":   strings.Repeat("'", 50_000) + strings.Repeat("a'", 25_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				terms.Of(text)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"OrderProcessor": {"Order", "Processor"}, "email_dlq-queue": {"email", "dlq", "queue"}, "HTTP Server": {"HTTP", "Server"}, "auth": {"auth"}, "…": nil, "": nil,
	} {
		if got := terms.Parts(name); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
