package draft_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/draft"
	"github.com/stele-dev/stele/internal/problem"
)

// outline writes a draft as a list: containers and components with technology, description and paths, then relationships.
func outline(t *testing.T, d *draft.Draft) []string {
	t.Helper()
	m, err := parse(t, d.DSL)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.DSL)
	}
	var out []string
	for _, e := range m.Elements {
		line := fmt.Sprintf("%s%s [%s] %s", strings.Repeat("  ", strings.Count(e.Key, ".")), e.Name, e.Technology, e.Description)
		for _, tag := range e.Tags {
			line += " #" + tag
		}
		if at := e.Properties["path"]; at != "" {
			line += " @ " + at
		}
		out = append(out, line)
	}
	for _, r := range m.Relationships {
		out = append(out, strings.TrimPrefix(r.Source, "shop.")+" -> "+strings.TrimPrefix(r.Destination, "shop.")+": "+r.Description)
	}
	return out
}

// big is source text of some size, so that a folder counts for something.
func big(text string) string {
	return text + strings.Repeat("\n// more of it, more of it, more of it", 20)
}

func bigPython(text string) string {
	return text + strings.Repeat("# more of it, more of it, more of it\n", 20)
}

func TestPropose(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"a Go module with one program": {
			files: map[string]string{
				"go.mod": "module example.org/shop/v2\n", "README.md": "[![build](b.svg)](b)\n\n# Shop\n\nSells things to people. And more.\n",
				"cmd/shopd/main.go":         big("package main\n\nimport (\n\t_ \"example.org/shop/v2/internal/orders\"\n\t_ \"example.org/shop/v2/internal/web\"\n)\n"),
				"internal/orders/doc.go":    "// Package orders takes orders, e.g. of books. It never forgets.\npackage orders\n",
				"internal/orders/orders.go": big("package orders\n"),
				"internal/web/web.go":       big("package web\n\nimport _ \"example.org/shop/v2/internal/orders\"\n"),
				"examples/one/main.go":      big("package main\n"), "internal/web/web_test.go": big("package web\n"),
			},
			want: []string{
				"Shop [] Sells things to people.",
				"  Shop [Go]  @ /cmd, /internal",
				"    shopd [Go]  @ cmd/shopd",
				"    orders [Go] Takes orders, e.g. of books. @ internal/orders",
				"    web [Go]  @ internal/web",
				"shop.shopd -> shop.orders: Uses",
				"shop.shopd -> shop.web: Uses",
				"shop.web -> shop.orders: Uses",
			},
		},
		"programs of one module, and a page": {
			files: map[string]string{
				"go.mod":           "module example.org/shop\n",
				"cmd/api/main.go":  big("// Command api answers.\npackage main\n\nimport _ \"example.org/shop/store\"\n"),
				"cmd/mail/main.go": big("package main\n\nimport _ \"example.org/shop/store\"\n"), "store/store.go": big("// Package store keeps.\npackage store\n"),
				"page/package.json": `{"name": "@shop/page", "description": "What people see.", "dependencies": {"react": "19"}}`, "page/src/index.tsx": big("export {}"),
				"docker-compose.yml": "services:\n  api:\n    build: {context: ., dockerfile: cmd/api/Dockerfile}\n    depends_on: [db]\n  db:\n    image: docker.io/library/postgres:16\n",
			},
			want: []string{
				"shop [] ",
				"  shop [Go]  @ /store",
				"  page [TypeScript, React] What people see. @ /page",
				"  db [PostgreSQL]  #External #Database",
				"  api [Go] Answers. @ cmd/api",
				"  mail [Go]  @ cmd/mail",
				"api -> db: Needs, by the compose file",
				"api -> shop: Uses",
				"mail -> shop: Uses",
			},
		},
		"a workspace of scripts": {
			files: map[string]string{
				"package.json": `{"name": "shop-monorepo", "private": true, "workspaces": ["packages/*"]}`, "eslint.config.js": "export default []",
				"packages/core/package.json": `{"name": "@shop/core", "description": "rules of the shop"}`, "packages/core/src/index.ts": big("export const a = 1"),
				"packages/ui/package.json": `{"name": "@shop/ui", "dependencies": {"@shop/core": "workspace:*", "vue": "3"}}`, "packages/ui/src/index.ts": big("import { a } from '@shop/core'"),
			},
			want: []string{
				"shop [] ", "  core [TypeScript] Rules of the shop @ packages/core", "  ui [TypeScript, Vue.js]  @ packages/ui", "ui -> core: Uses",
			},
		},
		"one package of Python, whose modules are its parts": {
			files: map[string]string{
				"pyproject.toml":       "[project]\nname = \"shop\"\ndescription = \"Sells.\"\ndependencies = [\"fastapi\"]\n[project.scripts]\nshop = \"shop:main\"\n",
				"src/shop/__init__.py": "from .orders import order\n", "src/shop/orders.py": bigPython("\"\"\"Orders of people.\n\nAnd more.\n\"\"\"\nfrom shop import stock\n"),
				"src/shop/stock.py": bigPython("import os\n"), "tests/test_orders.py": "from shop import orders\n",
			},
			want: []string{
				"shop [] Sells.", "  shop [Python, FastAPI] Sells. @ /src", "    orders [Python] Orders of people. @ src/shop/orders.py", "    stock [Python]  @ src/shop/stock.py",
				"shop.orders -> shop.stock: Uses",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, _ := commit(t, test.files)
			d, err := draft.Propose(t.Context(), draft.Options{Repository: repo, Name: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outline(t, d)); diff != "" {
				t.Error(diff)
			}
			if d.Report.Score == nil || *d.Report.Score != 100 || len(d.Ignore) > 0 {
				t.Errorf("score %v, findings %v, ignore %v", d.Report.Score, d.Report.Findings, d.Ignore)
			}
		})
	}
}

// A build of many modules of one kind is joined until a person can look at it, and still nothing is left out.
func TestProposeBounds(t *testing.T) {
	t.Parallel()
	files := map[string]string{"settings.gradle": "rootProject.name = 'shop'\n", "build.gradle": ""}
	for i := range 60 {
		module := fmt.Sprintf("modules/part-%02d", i)
		if i < 10 {
			module = fmt.Sprintf("payments/kind-%d", i)
		}
		files[module+"/build.gradle"] = ""
		for j := range 16 {
			files[fmt.Sprintf("%s/src/main/java/org/shop/p%d/q%d/A.java", module, i, j)] = fmt.Sprintf("package org.shop.p%d.q%d;\nclass A {}\n", i, j)
		}
	}
	repo, _ := commit(t, files)
	d, err := draft.Propose(t.Context(), draft.Options{Repository: repo, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Containers) > 40 {
		t.Errorf("%d containers", len(d.Containers))
	}
	for _, c := range d.Containers {
		if len(c.Components) > 12 {
			t.Errorf("%s has %d components", c.Name, len(c.Components))
		}
	}
	at := slices.IndexFunc(d.Containers, func(c draft.Container) bool { return c.Name == "payments" })
	if at < 0 || !slices.Contains(d.Containers[at].Components, "payments/kind-3") {
		t.Errorf("the modules of payments are not one container: %v", d.Containers)
	}
	if f := d.Report.Files; f.Owned != f.Source || f.Source != 60*16 {
		t.Errorf("%d of %d files are owned", f.Owned, f.Source)
	}
}

// What stele.yaml ignores is neither proposed nor asked for again, and a project inside a repository is bound from the top.
func TestProposeOfAProject(t *testing.T) {
	t.Parallel()
	repo, _ := commit(t, map[string]string{
		"team/shop/stele.yaml": "ignore:\n  - old/**\n", "team/shop/package.json": `{"name": "shop"}`, "team/shop/src/a/a.ts": big("import '../b/b'"),
		"team/shop/src/b/b.ts": big("export {}"), "team/shop/old/c.ts": big("export {}"), "other/main.py": "x = 1\n", "team/shop/index.ts": big("import './src/a/a'"),
	})
	d, err := draft.Propose(t.Context(), draft.Options{Repository: repo, Root: "team/shop", Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"shop [] ", "  shop [TypeScript]  @ team/shop/*.ts, team/shop/src", "    a [TypeScript]  @ team/shop/src/a", "    b [TypeScript]  @ team/shop/src/b", "shop.a -> shop.b: Uses",
	}
	if diff := cmp.Diff(want, outline(t, d)); diff != "" {
		t.Error(diff)
	}
	if d.Report.Score == nil || *d.Report.Score != 100 {
		t.Errorf("findings: %v", d.Report.Findings)
	}
}

// Of many folders of modules, what was joined once is joined once more, in one place.
func TestProposeOfManyModules(t *testing.T) {
	t.Parallel()
	const folders = 45
	files := map[string]string{}
	for n := range folders {
		for _, module := range []string{"a", "b"} {
			folder := fmt.Sprintf("group%02d/%s", n, module)
			files[folder+"/go.mod"] = "module example.org/" + folder + "\n"
			files[folder+"/x.go"] = big("package x\n")
		}
	}
	repo, _ := commit(t, files)
	d, err := draft.Propose(t.Context(), draft.Options{Repository: repo, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(t, d.DSL)
	if err != nil {
		t.Fatal(err)
	}
	containers := 0
	for _, e := range m.Elements {
		if e.Level == c4model.Container {
			containers++
		}
	}
	if containers > 40 || strings.Count(d.DSL, "group07/a") != 1 {
		t.Errorf("%d containers:\n%s", containers, d.DSL)
	}
	if d.Report.Score == nil || *d.Report.Score != 100 || len(d.Report.Findings) > 0 {
		t.Errorf("findings: %v", d.Report.Findings)
	}
}

func TestProposeOfNothing(t *testing.T) {
	t.Parallel()
	repo, _ := commit(t, map[string]string{"README.md": "# Notes\n", "examples/a.py": "x = 1\n"})
	_, err := draft.Propose(t.Context(), draft.Options{Repository: repo})
	if p, ok := problem.As(err); !ok || p.Code != problem.NotFound || len(p.Fixes) == 0 {
		t.Errorf("no source code gives %v", err)
	}
}

// Services from elsewhere alone are a model that nothing can be compared with, and the report says so.
func TestProposeOfServices(t *testing.T) {
	t.Parallel()
	repo, _ := commit(t, map[string]string{"compose.yaml": "services:\n  cache: {image: 'redis:8'}\n"})
	d, err := draft.Propose(t.Context(), draft.Options{Repository: repo, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(t, d.DSL)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.Elements, func(e c4model.Element) bool { return e.Name == "cache" && !e.InScope() }) {
		t.Errorf("the service is not drawn as external: %v", m.Elements)
	}
	if d.Report.Status != drift.NotChecked || d.Report.Reason == "" {
		t.Errorf("status %s: %s", d.Report.Status, d.Report.Reason)
	}
}
