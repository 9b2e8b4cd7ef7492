package drift_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

const shopModel = `workspace "Shop" {
    !identifiers hierarchical
    model {
        customer = person "Customer"
        mailer = softwareSystem "Mailer" "Sends mail" "External"
        shop = softwareSystem "Shop" {
            api = container "API" "Takes orders" "Go" {
                properties {
                    path "api"
                }
                http = component "HTTP" "Routes" "Go" {
                    properties {
                        path "api/http"
                    }
                }
                orders = component "Orders" "Rules" "Go" {
                    properties {
                        path "api/orders"
                    }
                }
            }
            store = container "Store" "Keeps orders" "Go" {
                properties {
                    path "store"
                }
            }
        }
        customer -> shop.api.http "Orders" "HTTPS"
        shop.api.http -> shop.api.orders "Calls"
        shop.api.orders -> shop.store "Saves in"
        shop.api.orders -> mailer "Sends mail by" "SMTP"
    }
}
`

func shopFiles() map[string]string {
	return map[string]string{
		"go.mod":              "module example.org/shop\n\ngo 1.24\n",
		"model/workspace.dsl": shopModel,
		"api/http/http.go":    "package http\n\nimport \"example.org/shop/api/orders\"\n\nvar _ = orders.New\n",
		"api/orders/order.go": "package orders\n\nimport \"example.org/shop/store\"\n\nvar New = store.Open\n",
		"store/store.go":      "package store\n\nfunc Open() {}\n",
		"README.md":           "# Shop\n",
	}
}

func shop(t testing.TB) *gittest.Repo {
	t.Helper()
	return gittest.New(t).WriteAll(shopFiles()).Commit("Open the shop")
}

// evaluate runs the engine on a commit, "" being HEAD.
//
//nolint:unparam // tests of several commits name one
func evaluate(t testing.TB, g *gittest.Repo, ref string) *drift.Report {
	t.Helper()
	r, err := tryEvaluate(t, g, ref)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryEvaluate(t testing.TB, g *gittest.Repo, ref string) (*drift.Report, error) {
	t.Helper()
	repo, err := git.Open(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	source := drift.Source{Repository: repo, ModelFile: "model/workspace.dsl"}
	in, err := source.Load(t.Context(), ref)
	if err != nil {
		return nil, err
	}
	return drift.Run(t.Context(), repo, in, drift.Options{Source: &source})
}

// brief is a finding in the words that tests compare.
func brief(f drift.Finding) string {
	s := fmt.Sprintf("%s %s %s", f.Check, f.Element, f.Subject)
	if f.Outcome != "" {
		s += " (" + string(f.Outcome) + ")"
	}
	if f.Since != nil {
		s += fmt.Sprintf(" since %q by %s", f.Since.Subject, f.Since.Cause)
	}
	return s
}

func briefs(r *drift.Report) []string {
	out := []string{}
	for _, f := range r.Findings {
		out = append(out, brief(f))
	}
	return out
}

func TestCodeThatMatchesItsModel(t *testing.T) {
	t.Parallel()
	r := evaluate(t, shop(t), "")
	if r.Status != drift.Checked || r.Score == nil || *r.Score != 100 || len(r.Findings) != 0 || *r.Coverage != 100 || r.History != "full" {
		t.Fatalf("%+v", r)
	}
	if r.Totals.Elements != 5 || r.Totals.Matched != 5 || r.Files.Source != 3 || r.Files.Owned != 3 || r.Imports.Internal != 2 {
		t.Errorf("totals %+v, files %+v, imports %+v", r.Totals, r.Files, r.Imports)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	model := func(old, now string) func(*gittest.Repo) {
		return func(g *gittest.Repo) {
			if !strings.Contains(shopModel, old) {
				t.Errorf("the model has no %q", old)
			}
			g.Write("model/workspace.dsl", strings.Replace(shopModel, old, now, 1)).Commit("Draw it anew")
		}
	}
	for name, tc := range map[string]struct {
		change func(*gittest.Repo)
		want   []string
	}{
		"files gone": {func(g *gittest.Repo) {
			g.Write("api/orders/order.go", "package orders\n\nfunc New() {}\n").Commit("Keep nothing").Remove("store/store.go").Commit("Drop the store")
			g.Write("README.md", "# The shop\n").Commit("Say more")
		}, []string{`existence shop.store /store (missing) since "Drop the store" by code`}},
		"files moved": {func(g *gittest.Repo) {
			g.Rename("store/store.go", "db/store.go").Write("api/orders/order.go", "package orders\n\nimport \"example.org/shop/db\"\n\nvar New = store.Open\n").Commit("Rename the store")
		}, []string{`existence shop.store /store (moved) since "Rename the store" by code`, `undocumented_code  db since "Rename the store" by code`}},
		"gone, back, and gone again": {func(g *gittest.Repo) {
			text := shopFiles()["store/store.go"]
			g.Write("api/orders/order.go", "package orders\n").Remove("store/store.go").Commit("Drop it").Write("store/store.go", text).Commit("Bring it back")
			g.Remove("store/store.go").Commit("Drop it for good")
		}, []string{`existence shop.store /store (missing) since "Drop it for good" by code`}},
		"never there": {model("path \"store\"", "path \"stores\""), []string{
			`existence shop.store /stores (never_matched) since "Draw it anew" by model`, `undocumented_code  store since "Draw it anew" by model`}},
		"another language": {func(g *gittest.Repo) {
			g.Write("api/orders/order.go", "package orders\n").Remove("store/store.go").Write("store/store.py", "def open(): pass\n").Commit("Rewrite in Python")
		}, []string{`language_mismatch shop.store Go since "Rewrite in Python" by code`}},
		"another language, says the model": {model(`"Keeps orders" "Go"`, `"Keeps orders" "Java, Spring Boot"`), []string{
			`language_mismatch shop.store Groovy or Java or Kotlin or Scala since "Draw it anew" by model`}},
		"a dependency went": {func(g *gittest.Repo) {
			g.Write("api/http/http.go", "package http\n\nvar X = 1\n").Commit("Cut the tie")
		}, []string{`absent_dependency shop.api.http shop.api.orders since "Cut the tie" by code`}},
		"a dependency that was only drawn": {model("shop.api.orders -> mailer", "shop.api.orders -> shop.api.http \"Calls back\"\n        shop.api.orders -> mailer"), []string{
			`absent_dependency shop.api.orders shop.api.http since "Draw it anew" by model`}},
		"a dependency over a wire is not judged": {model("shop.api.orders -> mailer", "shop.api.orders -> shop.api.http \"Calls back\" \"HTTPS\"\n        shop.api.orders -> mailer"), []string{}},
		"a dependency came": {func(g *gittest.Repo) {
			g.Write("api/http/more.go", "package http\n\nimport _ \"example.org/shop/store\"\n").Commit("Reach around")
		}, []string{`undocumented_dependency shop.api.http shop.store since "Reach around" by code`}},
		"a dependency of a test only": {func(g *gittest.Repo) {
			g.Write("api/http/http_test.go", "package http\n\nimport _ \"example.org/shop/store\"\n").Commit("Test more")
		}, []string{}},
		"a dependency on a part of what nobody outside imports": {model("shop.api.orders -> mailer", "shop.store -> shop.api.orders \"Asks\"\n        shop.api.orders -> mailer"), []string{}},
		"a dependency that code has the other way round": {func(g *gittest.Repo) {
			g.Write("api/http/http.go", "package http\n\nfunc Route(string) {}\n")
			g.Write("api/orders/order.go", "package orders\n\nimport (\n\t\"example.org/shop/api/http\"\n\t\"example.org/shop/store\"\n)\n\nvar New, _ = store.Open, http.Route\n").Commit("Register the orders")
		}, []string{`undocumented_dependency shop.api.orders shop.api.http since "Register the orders" by code`}},
		"a dependency that a package passes on": {func(g *gittest.Repo) {
			g.Remove("api/http/http.go").Remove("api/orders/order.go").Remove("store/store.go")
			g.Write("api/__init__.py", "from store.orders import Store\n").Write("store/__init__.py", "").Write("store/orders.py", "class Store: pass\n")
			g.Write("api/http/__init__.py", "from api.orders import place\n").Write("api/orders/__init__.py", "from api import Store\n")
			g.Write("model/workspace.dsl", strings.ReplaceAll(shopModel, `"Go"`, `"Python"`)).Commit("Rewrite in Python")
		}, []string{}},
		"a package that lies in two folders": {func(g *gittest.Repo) {
			g.Remove("api/http/http.go").Remove("api/orders/order.go").Remove("store/store.go").Remove("go.mod")
			g.Write("api/http/Http.kt", "package shop\n\nval orders = Orders()\n").Write("api/orders/Orders.kt", "package shop\n\nclass Orders { val store = Store() }\n")
			g.Write("store/Store.kt", "package shop\n\nclass Store\n")
			g.Write("model/workspace.dsl", strings.ReplaceAll(shopModel, `"Go"`, `"Kotlin"`)).Commit("Rewrite in Kotlin")
		}, []string{}},
		"a dependency that came before its files were bound": {func(g *gittest.Repo) {
			g.Write("model/workspace.dsl", strings.Replace(shopModel, "                properties {\n                    path \"store\"\n                }\n", "", 1)).Commit("Unbind the store")
			g.Write("api/http/more.go", "package http\n\nimport _ \"example.org/shop/store\"\n").Commit("Reach around")
			g.Write("stele.yaml", "bindings:\n  shop.store: store/**\n").Commit("Bind the store")
		}, []string{`undocumented_dependency shop.api.http shop.store since "Reach around" by code`}},
		"another language, older than its code": {func(g *gittest.Repo) {
			g.Write("model/workspace.dsl", strings.Replace(shopModel, "        customer ->", "        ledger = softwareSystem \"Ledger\" {\n            books = container \"Books\" \"Accounts\" \"Ruby\" {\n                properties {\n                    path \"books\"\n                }\n            }\n        }\n        customer ->", 1)).Commit("Plan books")
			g.Write("books/README.md", "# Books\n").Commit("Say what books are").Write("books/b.go", "package books\n").Commit("Keep books").Write("books/c.go", "package books\n").Commit("Keep more")
		}, []string{`language_mismatch ledger.books Ruby since "Keep books" by code`}},
		"the model forgot a dependency": {model("        shop.api.orders -> shop.store \"Saves in\"\n", ""), []string{
			`undocumented_dependency shop.api shop.store since "Draw it anew" by model`}},
		"code that nobody drew": {func(g *gittest.Repo) {
			g.Write("billing/deep/a.go", "package deep\n").Write("billing/b.go", "package billing\n").Commit("Bill")
			g.Write("billing/deep/c.go", "package deep\n").Commit("Bill more")
		}, []string{`undocumented_code  billing since "Bill" by code`}},
		"code that needs no drawing": {func(g *gittest.Repo) {
			g.Write("examples/a.go", "package a\n").Write("vendor/x/x.go", "package x\n").Write("scripts/b.py", "").Write("api/gen/x.pb.go", "package gen\n").
				Write(".gitattributes", "made/** linguist-generated\n").Write("made/a.go", "package made\n").
				Write("tools/x.go", "package tools\n").Write("web/index.html", "<p>").Write("build.sbt", "").Write("project/Versions.scala", "object V\n").Write("shop-tests/src/a.go", "package a\n").Write("src/stubs/a.pyi", "x: int\n").Write("src/stubs/b.d.ts", "declare const x: number\n").Write("stele.yaml", "ignore: [lab/**]\n").Write("lab/l.go", "package lab\n").Commit("Add much")
		}, []string{}},
		"two claim the same": {func(g *gittest.Repo) {
			g.Write("stele.yaml", "bindings:\n  shop.api.http: [store/**]\n").Commit("Bind wrongly")
		}, []string{`ambiguous_binding shop.api.http shop.store`}},
		"a reference into nothing": {func(g *gittest.Repo) {
			g.Write("stele.yaml", "bindings:\n  shop.gone: [x/**]\nnone:\n  shop.lost: a hosted service\n").Commit("Bind nothing")
		}, []string{`dangling_reference shop.gone bindings`, `dangling_reference shop.lost none`}},
		"no code, for a reason": {func(g *gittest.Repo) {
			g.Remove("store/store.go").Write("api/orders/order.go", "package orders\n").Write("stele.yaml", "none:\n  shop.store: a hosted database\n").Commit("Host it")
		}, []string{}},
		"the project of a folder": {func(g *gittest.Repo) {
			g.Write("other/stele.yaml", "model: w.dsl\n").Write("other/x.go", "package other\n").Commit("Begin another project")
		}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := shop(t)
			tc.change(g)
			r := evaluate(t, g, "")
			if diff := cmp.Diff(tc.want, briefs(r)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if perfect := len(r.Findings) == 0; perfect != (*r.Score == 100) {
				t.Errorf("score %d with %d findings", *r.Score, len(r.Findings))
			}
			for _, f := range r.Findings {
				if f.Fingerprint == "" || f.Message == "" || f.Fix.Action == "" || f.Weight <= 0 || f.Gain <= 0 {
					t.Errorf("incomplete: %+v", f)
				}
			}
		})
	}
}

func TestWaivers(t *testing.T) {
	t.Parallel()
	g := shop(t)
	g.Write("api/orders/order.go", "package orders\n").Remove("store/store.go").Commit("Drop the store")
	before := evaluate(t, g, "")
	if len(before.Findings) != 1 {
		t.Fatal(briefs(before))
	}
	fingerprint := before.Findings[0].Fingerprint
	waive := func(fingerprint, expires string) *drift.Report {
		g.Write("stele.yaml", "waivers:\n  - fingerprint: "+fingerprint+"\n    reason: comes back\n    expires: "+expires+"\n").Commit("Waive")
		return evaluate(t, g, "")
	}
	r := waive(fingerprint, "2026-02-01")
	if len(r.Findings) != 0 || len(r.Waived) != 1 || *r.Score != 100 || r.Waived[0].WaiverReason != "comes back" || len(r.Warnings) != 0 {
		t.Errorf("waived: %+v", r)
	}
	if r.Weight >= before.Weight {
		t.Errorf("the weight was %d and is %d: a waived check counts on neither side", before.Weight, r.Weight)
	}
	r = waive(fingerprint, "2026-01-01")
	if len(r.Findings) != 1 || len(r.Waived) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "expired") {
		t.Errorf("expired: %v %v", briefs(r), r.Warnings)
	}
	r = waive("0123456789abcdef", "2026-02-01")
	if len(r.Findings) != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "stale") {
		t.Errorf("stale: %v %v", briefs(r), r.Warnings)
	}
}

func TestNothingToCheckIsNoScore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ model, reason string }{
		"no elements": {"workspace {\n model {\n }\n}\n", "no elements"},
		"people only": {"workspace {\n model {\n a = person \"A\"\n }\n}\n", "none of the 1 elements"},
		"unbound":     {"workspace {\n model {\n a = softwareSystem \"A\"\n }\n}\n", "bound to code"},
	} {
		r := evaluate(t, shop(t).Write("model/workspace.dsl", tc.model).Commit(name), "")
		if r.Status != drift.NotChecked || r.Score != nil || !strings.Contains(r.Reason, tc.reason) || len(r.Fixes) == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, change := range map[string]func(*gittest.Repo){
		"broken": func(g *gittest.Repo) { g.Write("model/workspace.dsl", "workspace {\n model {\n a = softwareSystem\n") },
		"absent": func(g *gittest.Repo) { g.Remove("model/workspace.dsl") },
	} {
		g := shop(t)
		change(g)
		g.Commit(name)
		if r, err := tryEvaluate(t, g, ""); err == nil {
			t.Errorf("%s: %+v", name, r)
		} else if _, ok := problem.As(err); !ok {
			t.Errorf("%s: %v is no problem", name, err)
		}
	}
}

func TestShallowSeesTheSameFindings(t *testing.T) {
	t.Parallel()
	g := shop(t)
	g.Write("api/http/more.go", "package http\n\nimport _ \"example.org/shop/store\"\n").Commit("Reach around")
	g.Write("billing/b.go", "package billing\n").Commit("Bill")
	g.Write("README.md", "# More\n").Commit("Say more")
	full, shallow := evaluate(t, g, ""), evaluate(t, g.Shallow(1), "")
	if shallow.History != "shallow" || full.InputHash != shallow.InputHash {
		t.Errorf("history %s, hashes %s %s", shallow.History, full.InputHash, shallow.InputHash)
	}
	for i, f := range shallow.Findings {
		if f.Fingerprint != full.Findings[i].Fingerprint || f.Since == nil || !f.Since.AtOrBefore {
			t.Errorf("%s: since %+v, whole %+v", brief(f), f.Since, full.Findings[i].Since)
		}
	}
	if a, b := told(t, full), told(t, shallow); a != b {
		t.Errorf("the reports differ beyond history:\n%s", cmp.Diff(a, b))
	}
}

// told is a report without what history tells, as text.
func told(t testing.TB, r *drift.Report) string {
	t.Helper()
	c := *r
	c.History, c.Findings = "", slices.Clone(r.Findings)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Since, f.Outcome, f.New, f.MovedTo, f.Fix = nil, "", false, "", drift.Fix{}
		f.Message, _, _ = strings.Cut(f.Message, "; most of it moved")
	}
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRunTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	g := shop(t)
	g.Remove("store/store.go").Write("billing/b.go", "package billing\n").Commit("Change much")
	a, err := json.Marshal(evaluate(t, g, ""))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(evaluate(t, g.Clone(), ""))
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}
