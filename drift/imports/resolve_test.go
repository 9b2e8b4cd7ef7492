package imports

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A resolving is what the imports of files mean: each wanted line is "file: import → files", with the import as its Spec and
// [Name], and the files with blanks between, then "also" and those that it may mean or passes, or "outside", or "? reason".
type resolving struct {
	files treeOf
	want  map[string]string // of "file: import"
	local []string          // "manifest:line from → to"
}

func (c resolving) check(t *testing.T) {
	t.Helper()
	r := resolverOf(t, c.files)
	got := map[string]string{}
	for _, file := range c.files.Files() {
		facts, err := Extract(file, []byte(c.files[file]))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range facts.Imports {
			key := file + ": " + i.Spec
			if i.Name != "" {
				key += " [" + i.Name + "]"
			}
			switch resolution := r.Resolve(file, i); resolution.Verdict {
			case Internal:
				got[key] = strings.Join(resolution.Files, " ")
				if len(resolution.Also) > 0 {
					got[key] += " also " + strings.Join(resolution.Also, " ")
				}
			case External:
				got[key] = "outside"
			default:
				got[key] = "? " + resolution.Reason
			}
		}
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Error(diff)
	}
	var local []string
	for _, d := range r.Dependencies() {
		local = append(local, strings.Join([]string{d.Manifest, d.From, d.To}, " "))
	}
	if diff := cmp.Diff(c.local, local); diff != "" {
		t.Error(diff)
	}
	if unread := r.Unread(); len(unread) > 0 {
		t.Errorf("unread: %v", unread)
	}
}

func TestResolveThroughWhatPackagesPassOn(t *testing.T) {
	t.Parallel()
	resolving{
		files: treeOf{
			"shop/__init__.py": "from .orders import Order\nfrom shop.deep import Deep, Gone\nfrom . import stock\n",
			"shop/orders.py":   "", "shop/stock.py": "", "shop/deep/__init__.py": "from .core import Deep\n", "shop/deep/core.py": "",
			"app.py": "from shop import Order, Deep, Gone, stock, other\n",
		},
		want: map[string]string{
			"shop/__init__.py: .orders [Order]":   "shop/orders.py",
			"shop/__init__.py: shop.deep [Deep]":  "shop/deep/core.py also shop/deep/__init__.py",
			"shop/__init__.py: shop.deep [Gone]":  "shop/deep/__init__.py",
			"shop/__init__.py: . [stock]":         "shop/stock.py",
			"shop/deep/__init__.py: .core [Deep]": "shop/deep/core.py",
			"app.py: shop [Order]":                "shop/orders.py also shop/__init__.py",
			"app.py: shop [Deep]":                 "shop/deep/core.py also shop/__init__.py shop/deep/__init__.py",
			"app.py: shop [Gone]":                 "shop/deep/__init__.py also shop/__init__.py",
			"app.py: shop [stock]":                "shop/stock.py",
			"app.py: shop [other]":                "shop/__init__.py",
		},
	}.check(t)
	resolving{
		files: treeOf{
			"src/main.ts": "import { a } from './lib'\n", "src/lib/index.ts": "export * from './a'\nexport { b } from './deep'\nimport './c'\n",
			"src/lib/a.ts": "", "src/lib/c.ts": "", "src/lib/deep/index.ts": "export * from '../index'\nexport * from './b'\n", "src/lib/deep/b.ts": "",
		},
		want: map[string]string{
			"src/main.ts: ./lib":              "src/lib/index.ts also src/lib/a.ts src/lib/deep/b.ts src/lib/deep/index.ts",
			"src/lib/index.ts: ./a":           "src/lib/a.ts",
			"src/lib/index.ts: ./deep":        "src/lib/deep/index.ts also src/lib/a.ts src/lib/deep/b.ts src/lib/index.ts",
			"src/lib/index.ts: ./c":           "src/lib/c.ts",
			"src/lib/deep/index.ts: ../index": "src/lib/index.ts also src/lib/a.ts src/lib/deep/b.ts src/lib/deep/index.ts",
			"src/lib/deep/index.ts: ./b":      "src/lib/deep/b.ts",
		},
	}.check(t)
}

func TestResolveGo(t *testing.T) {
	t.Parallel()
	resolving{
		files: treeOf{
			"go.mod": "module example.com/shop // the root\n\ngo 1.26\n\nreplace (\n\texample.com/lib v1.0.0 => ./lib\n\texample.com/gone => ../gone\n)\n",
			"main.go": "package main\nimport (\n\"fmt\"\n\"C\"\n\"example.com/shop/order\"\n\"example.com/shop\"\n\"example.com/shopping/x\"\n" +
				"\"example.com/lib/deep\"\n\"example.com/shop/tools/gen\"\n\"example.com/shop/gen\"\n\"example.com/gone\"\n)\n",
			"order/order.go": "package order\n", "order/item.go": "package order\n", "order/order_test.go": "package order_test\nimport \"example.com/shop/order\"\n",
			"lib/deep/deep.go": "package deep\n", "gen/README": "",
			"tools/go.mod": "module example.com/shop/tools\nreplace example.com/shop => ../\n", "tools/gen/gen.go": "package gen\nimport \"example.com/shop/order\"\n",
			"other/go.mod": "module plain\n", "other/a.go": "package plain\nimport (\n\"plain/b\"\n\"example.com/shop/order\"\n)\n", "other/b/b.go": "package b\n",
			"x/testdata/go.mod": "module example.com/shop\n", "x/testdata/a.go": "package a\nimport \"example.com/shop/order\"\n", "x/testdata/order/o.go": "package order\n",
			"go.work": "go 1.26\nuse (\n\t.\n\t./tools\n)\n",
		},
		want: map[string]string{
			"main.go: fmt": "outside", "main.go: C": "outside", "main.go: example.com/shopping/x": "outside", "main.go: example.com/gone": "outside",
			"main.go: example.com/shop/order":             "order/item.go order/order.go",
			"main.go: example.com/shop":                   "main.go",
			"main.go: example.com/lib/deep":               "lib/deep/deep.go",
			"main.go: example.com/shop/tools/gen":         "tools/gen/gen.go",
			"main.go: example.com/shop/gen":               "? example.com/shop/gen is a package of this repository, but gen holds no Go files (generated, or gone)",
			"order/order_test.go: example.com/shop/order": "order/item.go order/order.go",
			"tools/gen/gen.go: example.com/shop/order":    "order/item.go order/order.go",
			"other/a.go: plain/b":                         "other/b/b.go",
			"other/a.go: example.com/shop/order":          "order/item.go order/order.go",
			"x/testdata/a.go: example.com/shop/order":     "x/testdata/order/o.go",
		},
		local: []string{"go.mod . lib", "go.work . tools", "tools/go.mod tools ."},
	}.check(t)
	resolving{
		files: treeOf{"a.go": "package a\nimport (\n\"fmt\"\n\"example.com/x\"\n\"./b\"\n)\n", "b/b.go": "package b\nimport \"../..\"\n"},
		want: map[string]string{
			"a.go: fmt": "outside", "a.go: example.com/x": "? no go.mod above a.go says which import paths are of this repository",
			"a.go: ./b": "b/b.go", "b/b.go: ../..": "? ../.. leads out of the repository",
		},
	}.check(t)
}

func TestResolvePython(t *testing.T) {
	t.Parallel()
	resolving{
		files: treeOf{
			"api/pyproject.toml":               "[project]\ndependencies = [\"stripe >= 1\"]\n[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n",
			"api/lib/shop/__init__.py":         "from .order import Order\nfrom . import order, VERSION\nfrom .. import x\nfrom ....y import z\n",
			"api/lib/shop/order.py":            "import json, stripe\nimport shop.money\nfrom shop import money, VERSION\nfrom shop.gone import a\nimport shop.plugins.card\nfrom shop.plugins import card, none\nfrom shop.order.x import y\n",
			"api/lib/shop/money.py":            "",
			"api/lib/shop/json.py":             "",
			"api/lib/shop/plugins/card.py":     "from ..money import *\n",
			"api/tests/test_order.py":          "import shop.order\nimport helpers\nfrom worker import jobs\n",
			"api/tests/helpers.py":             "",
			"worker/setup.py":                  "from setuptools import setup, find_packages\nsetup(name='worker', package_dir={'': 'python'}, packages=find_packages('python'))\n",
			"worker/python/worker/__init__.py": "", "worker/python/worker/jobs.py": "from shop.order import Order\nimport docker\nimport types.more\n",
			"docker/build.py":            "",
			"stripe/__init__.py":         "",
			"scripts/a/tool/__init__.py": "", "scripts/run/b.py": "import tool\nimport stripe\n",
			"types/more.py": "",
		},
		want: map[string]string{
			"api/lib/shop/__init__.py: .order [Order]":         "api/lib/shop/order.py",
			"api/lib/shop/__init__.py: . [order]":              "api/lib/shop/order.py",
			"api/lib/shop/__init__.py: . [VERSION]":            "api/lib/shop/__init__.py",
			"api/lib/shop/__init__.py: .. [x]":                 "? api/lib has neither a module x nor an __init__.py that could say it (..)",
			"api/lib/shop/__init__.py: ....y [z]":              "? there is no module y in .",
			"api/lib/shop/order.py: json":                      "outside",
			"api/lib/shop/order.py: stripe":                    "stripe/__init__.py",
			"api/lib/shop/order.py: shop.money":                "api/lib/shop/money.py",
			"api/lib/shop/order.py: shop [money]":              "api/lib/shop/money.py",
			"api/lib/shop/order.py: shop [VERSION]":            "api/lib/shop/__init__.py",
			"api/lib/shop/order.py: shop.gone [a]":             "? api/lib/shop holds no gone (generated, or compiled)",
			"api/lib/shop/order.py: shop.plugins.card":         "api/lib/shop/plugins/card.py",
			"api/lib/shop/order.py: shop.plugins [card]":       "api/lib/shop/plugins/card.py",
			"api/lib/shop/order.py: shop.plugins [none]":       "? api/lib/shop/plugins has neither a module none nor an __init__.py that could say it (shop.plugins)",
			"api/lib/shop/order.py: shop.order.x [y]":          "? api/lib/shop/order.py is a module and no package, so that there is no shop.order.x",
			"api/lib/shop/plugins/card.py: ..money [*]":        "api/lib/shop/money.py",
			"api/tests/test_order.py: shop.order":              "api/lib/shop/order.py",
			"api/tests/test_order.py: helpers":                 "api/tests/helpers.py",
			"api/tests/test_order.py: worker [jobs]":           "worker/python/worker/jobs.py",
			"worker/setup.py: setuptools [setup]":              "outside",
			"worker/setup.py: setuptools [find_packages]":      "outside",
			"worker/python/worker/jobs.py: shop.order [Order]": "api/lib/shop/order.py",
			"worker/python/worker/jobs.py: docker":             "outside",
			"worker/python/worker/jobs.py: types.more":         "types/more.py",
			"scripts/run/b.py: tool":                           "scripts/a/tool/__init__.py",
			"scripts/run/b.py: stripe":                         "stripe/__init__.py",
		},
	}.check(t)
}

func TestResolveRust(t *testing.T) {
	t.Parallel()
	resolving{
		files: treeOf{
			"Cargo.toml": "[workspace]\nmembers = [\"app\", \"crates/*\"]\n[workspace.package]\nedition = \"2021\"\n[workspace.dependencies]\nshop-core = { path = \"crates/core\" }\n",
			"app/Cargo.toml": "[package]\nname = \"app\"\nedition.workspace = true\n\n[dependencies]\nserde = \"1\"\nshop-core.workspace = true\nmoney = { path = \"../crates/money\", package = \"shop-money\" }\n" +
				"[target.'cfg(unix)'.dependencies.unixy]\nversion = \"1\"\n[[bin]]\nname = \"other\"\npath = \"cli/other.rs\"\n",
			"app/src/main.rs":             "mod order;\nmod gone;\nuse serde::Serialize;\nuse shop_core::user::{self, User};\nuse money::Amount;\nuse order::item::Item;\nuse std::fs;\nuse unixy::x;\nuse unknown::y;\nenum E { A }\nuse E::*;\nfn f() { shop_core::run(); app::x(); }\n",
			"app/src/order/mod.rs":        "pub mod item;\nuse super::order;\nuse crate::order::item as it;\nuse it::Item;\nmod tests { use super::*; use super::item::Item; }\n",
			"app/src/order/item.rs":       "mod price;\nuse super::super::super::x;\n#[path = \"../odd.rs\"] mod odd;\nmod inner { mod deep; }\n",
			"app/src/order/item/price.rs": "use super::super::item;\nuse crate::order::item::odd::deep;\n",
			"app/src/odd.rs":              "mod more;\n", "app/src/more.rs": "",
			"app/src/order/item/inner/deep.rs": "",
			"app/cli/other.rs":                 "use crate::x;\n",
			"app/tests/t.rs":                   "use shop_core::user;\nmod common;\n", "app/tests/common/mod.rs": "",
			"crates/core/Cargo.toml":    "[package]\nname = \"shop-core\"\nedition = \"2021\"\n",
			"crates/core/src/lib.rs":    "pub mod user;\nextern crate serde_x as sx;\nuse sx::a;\n",
			"crates/core/src/user.rs":   "use crate::Thing;\nuse super::user::User;\nuse shop_core::no;\n",
			"crates/core/examples/e.rs": "use shop_core::user::User;\n",
			"crates/core/src/stray.rs":  "use super::user;\n",
			"crates/money/Cargo.toml":   "[package]\nname = \"shop-money\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\nserde_x = \"1\"\n",
			"crates/money/lib.rs":       "mod a;\nmod b;\n", "crates/money/a.rs": "use b::B;\nuse serde_x::C;\n", "crates/money/b.rs": "",
			"loose.rs": "use crate::a;\n",
		},
		want: map[string]string{
			"app/src/main.rs: order": "app/src/order/mod.rs", "app/src/main.rs: gone": "? there is no file for mod gone (generated, or gone)",
			"app/src/main.rs: serde::Serialize": "outside", "app/src/main.rs: std::fs": "outside", "app/src/main.rs: unixy::x": "outside",
			"app/src/main.rs: shop_core::user": "crates/core/src/user.rs", "app/src/main.rs: shop_core::user::User": "crates/core/src/user.rs",
			"app/src/main.rs: money::Amount": "crates/money/lib.rs", "app/src/main.rs: order::item::Item": "app/src/order/item.rs",
			"app/src/main.rs: unknown::y": "? unknown is neither a crate of app/Cargo.toml nor a module that can be seen from app/src/main.rs",
			"app/src/main.rs: E::*":       "app/src/main.rs", "app/src/main.rs: shop_core::run": "crates/core/src/lib.rs",
			"app/src/main.rs: app::x":                                    "? app is neither a crate of app/Cargo.toml nor a module that can be seen from app/src/main.rs",
			"app/src/order/mod.rs: item":                                 "app/src/order/item.rs",
			"app/src/order/mod.rs: super::order":                         "app/src/order/mod.rs",
			"app/src/order/mod.rs: crate::order::item [it]":              "app/src/order/item.rs",
			"app/src/order/mod.rs: it::Item":                             "app/src/order/item.rs",
			"app/src/order/mod.rs: self::*":                              "app/src/order/mod.rs",
			"app/src/order/mod.rs: self::item::Item":                     "app/src/order/item.rs",
			"app/src/order/item.rs: price":                               "app/src/order/item/price.rs",
			"app/src/order/item.rs: super::super::super::x":              "? super::super::super::x leads out of the crate",
			"app/src/order/item.rs: odd [../odd.rs]":                     "app/src/odd.rs",
			"app/src/order/item.rs: inner::deep":                         "app/src/order/item/inner/deep.rs",
			"app/src/order/item/price.rs: super::super::item":            "app/src/order/item.rs",
			"app/src/order/item/price.rs: crate::order::item::odd::deep": "app/src/odd.rs",
			"app/src/odd.rs: more":                                       "app/src/more.rs",
			"app/cli/other.rs: crate::x":                                 "app/cli/other.rs",
			"app/tests/t.rs: shop_core::user":                            "crates/core/src/user.rs",
			"app/tests/t.rs: common":                                     "app/tests/common/mod.rs",
			"crates/core/src/lib.rs: user":                               "crates/core/src/user.rs",
			"crates/core/src/lib.rs: serde_x [sx]":                       "? serde_x is neither a crate of crates/core/Cargo.toml nor a module that can be seen from crates/core/src/lib.rs",
			"crates/core/src/lib.rs: sx::a":                              "? serde_x is neither a crate of crates/core/Cargo.toml nor a module that can be seen from crates/core/src/lib.rs",
			"crates/core/src/user.rs: crate::Thing":                      "crates/core/src/lib.rs",
			"crates/core/src/user.rs: super::user::User":                 "crates/core/src/user.rs",
			"crates/core/src/user.rs: shop_core::no":                     "crates/core/src/lib.rs",
			"crates/core/examples/e.rs: shop_core::user::User":           "crates/core/src/user.rs",
			"crates/core/src/stray.rs: super::user":                      "crates/core/src/user.rs",
			"crates/money/lib.rs: a":                                     "crates/money/a.rs",
			"crates/money/lib.rs: b":                                     "crates/money/b.rs",
			"crates/money/a.rs: b::B":                                    "crates/money/b.rs",
			"crates/money/a.rs: serde_x::C":                              "outside",
			"loose.rs: crate::a":                                         "? no crate of a Cargo.toml reaches loose.rs by mod",
		},
		local: []string{"app/Cargo.toml app crates/core", "app/Cargo.toml app crates/money"},
	}.check(t)
}

func TestResolveCSharp(t *testing.T) {
	t.Parallel()
	resolving{
		files: treeOf{
			"src/Api/Acme.Api.csproj":       "\xef\xbb\xbf<Project Sdk=\"x\">\n<ItemGroup>\n<ProjectReference Include=\"..\\domain\\Acme.Domain.csproj\" />\n<ProjectReference Include=\"$(Other)\\x.csproj\"/>\n</ItemGroup></Project>",
			"src/Domain/Acme.Domain.csproj": "<Project />",
			"src/domain/Acme.Domain.csproj": "<Project><ItemGroup><ProjectReference Include='..\\Base\\Acme.Base.csproj'/></ItemGroup></Project>",
			"src/Base/Acme.Base.csproj":     "<Project />", "src/Base/B.cs": "namespace Acme.Base;\nclass B {}\n",
			"src/Base/Ext.cs":     "namespace Microsoft.Extensions.Hosting;\nstatic class Ext {}\n",
			"src/domain/Order.cs": "namespace Acme.Orders { class Order {} }\n", "src/domain/Item.cs": "namespace Acme.Orders;\nrecord Item;\n",
			"src/Api/A.cs":     "using System;\nusing Acme.Orders;\nusing O = Acme.Orders.Item;\nusing static Acme.Orders.Order.Kind;\nusing Acme.Base;\nusing Acme.Web;\nusing Acme.Gone;\nusing Microsoft.Extensions.Hosting;\nnamespace Acme.Api { using Parts; using Serilog; }\n",
			"src/Api/Parts.cs": "namespace Acme.Api.Parts;\n", "src/Api/S.cs": "using Serilog;\nnamespace Acme.Api.Serilog;\n",
			"src/Web/Web.csproj": "<Project/>", "src/Web/W.cs": "namespace Acme.Web;\n",
		},
		want: map[string]string{
			"src/Api/A.cs: System": "outside", "src/Api/A.cs: Acme.Orders": "src/domain/Item.cs src/domain/Order.cs",
			"src/Api/A.cs: Acme.Orders.Item": "src/domain/Item.cs", "src/Api/A.cs: Acme.Orders.Order.Kind": "src/domain/Order.cs",
			"src/Api/A.cs: Acme.Base": "src/Base/B.cs", "src/Api/A.cs: Acme.Gone": "outside", "src/Api/A.cs: Microsoft.Extensions.Hosting": "outside",
			"src/Api/A.cs: Acme.Web":           "? Acme.Web is declared in this repository, but not in src/Api/Acme.Api.csproj or a project it references",
			"src/Api/A.cs: Parts [Acme.Api]":   "src/Api/Parts.cs",
			"src/Api/A.cs: Serilog [Acme.Api]": "src/Api/S.cs", "src/Api/S.cs: Serilog": "outside",
		},
		local: []string{"src/Api/Acme.Api.csproj src/Api src/domain", "src/domain/Acme.Domain.csproj src/domain src/Base"},
	}.check(t)
}

func TestUnreadManifests(t *testing.T) {
	t.Parallel()
	r := resolverOf(t, treeOf{
		"go.mod": "go 1.26\n", "Cargo.toml": "[package\n", "a/a.csproj": "<Project><x", "b/pyproject.toml": "[project]\nname = 'x\n", "c/Cargo.toml": "[package]\nname = \"c\"\n",
	})
	var got []string
	for _, u := range r.Unread() {
		got = append(got, u.Path+": "+u.Reason)
	}
	want := []string{
		"Cargo.toml: line 1: the header of a table is not closed", "a/a.csproj: XML syntax error on line 1: unexpected EOF",
		"b/pyproject.toml: line 2: a string is not closed", "go.mod: it has no module line",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNewResolverEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewResolver(ctx, treeOf{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestLinesOfManifests(t *testing.T) {
	t.Parallel()
	r := resolverOf(t, treeOf{
		"a/go.mod": "module a\n\nreplace b => ../b\n", "b/b.go": "package b\n",
		"c/Cargo.toml": "[package]\nname = \"c\"\n[dependencies]\nd = { path = \"../d\" }\n[dev-dependencies.e]\npath = \"../e\"\n",
		"d/Cargo.toml": "[package]\nname = \"d\"\n", "e/Cargo.toml": "[package]\nname = \"e\"\n",
		"f/f.csproj": "<Project>\n\n<ProjectReference Include=\"../g/g.csproj\"/>\n</Project>", "g/g.csproj": "<Project/>",
	})
	want := []ManifestDependency{{"a/go.mod", 3, "a", "b"}, {"c/Cargo.toml", 4, "c", "d"}, {"c/Cargo.toml", 5, "c", "e"}, {"f/f.csproj", 3, "f", "g"}}
	if diff := cmp.Diff(want, r.Dependencies()); diff != "" {
		t.Error(diff)
	}
}

func TestParseTOML(t *testing.T) {
	t.Parallel()
	got, err := parseTOML("a = 1 # one\n\"b c\".d = 'x\\y'\n[e.f]\ng = [ # list\n  \"h\\\"\", 'i', # end\n]\nj = { k = true, l.m = \"\"\"\nn\"\"\"\" }\n[[o]]\np = \"1\"\n[[o]]\n[o.q]\nr = 2026-01-01\n")
	if err != nil {
		t.Fatal(err)
	}
	want := tomlTable{
		"a": tomlLiteral("1"), "b c": tomlTable{"d": `x\y`},
		"e": tomlTable{"f": tomlTable{"g": []any{`h"`, "i"}, "j": tomlTable{"k": tomlLiteral("true"), "l": tomlTable{"m": "\nn\""}}}},
		"o": []any{tomlTable{"p": "1"}, tomlTable{"q": tomlTable{"r": tomlLiteral("2026-01-01")}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, fault := range map[string]string{
		"a": "line 1: a key has no value", "a =": "line 1: a value was expected", "\n[a": "line 2: the header of a table is not closed",
		"a = [1": "line 1: an array is not closed", "a = 1 = 2\n[": "line 2: a key was expected", "a = 1\n[a.b]": "line 2: a is no table", "a = \"x\" y": "line 1: a line has something after its value",
		"a = " + strings.Repeat("[", 100): "line 1: arrays are nested too deep",
	} {
		if _, err := parseTOML(text); err == nil || err.Error() != fault {
			t.Errorf("%q: %v, not %s", text, err, fault)
		}
	}
}

func FuzzParseTOML(f *testing.F) {
	f.Add("[a.b]\nc = [1, {d = '''e'''}]\n[[f]]\n\"g\".h = \"\\\"\"")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseTOML(text) })
}
