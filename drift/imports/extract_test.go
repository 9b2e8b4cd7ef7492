package imports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written writes imports as "line spec [name] kind".
func written(imports []Import) []string {
	var out []string
	for _, i := range imports {
		name := ""
		if i.Name != "" {
			name = "[" + i.Name + "]"
		}
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s %s", i.Line, i.Spec, name, i.Kind)), " "))
	}
	return out
}

func TestExtract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"go": {
			"a.go", "// Package a\npackage a\n\nimport (\n\t\"fmt\"\n\tx \"example.com/x\" // why\n\t. `dot`\n\t_ \"blank\"\n)\nimport \"C\"\nvar s = `import \"no\"`\n",
			[]string{"5 fmt", "6 example.com/x", "7 dot", "8 blank", "10 C"},
		},
		"go that breaks after its imports": {"a.go", "package a\nimport \"fmt\"\nfunc {{{", []string{"2 fmt"}},
		"python": {
			"a.py", "import os, a.b as c\nfrom x import y\nfrom . import z\nfrom ..m.n import (p as q,  # why\n    r,\n)\nfrom s import *\n",
			[]string{"1 os", "1 a.b", "2 x [y]", "3 . [z]", "4 ..m.n [p]", "5 ..m.n [r]", "7 s [*]"},
		},
		"python in odd places": {
			"a.py", "def f():\n    import a; import b\n    try: import c\n    except ImportError: c = None\nif x: from d \\\n    import e\nclass K: import f\n",
			[]string{"2 a", "2 b", "3 c", "6 d [e]", "7 f"},
		},
		"python that only talks of imports": {
			"a.py", "\"\"\"\nimport a\n\"\"\"\nx = '''\nimport b\n''' + r'\\' + f'{y}import'\n# import c\ndef g():\n    yield from d\n    raise E from e\nx.from_ = 'it''s'\nimport_ = 1\n",
			nil,
		},
		"python for types": {
			"a.py", "import typing\nif typing.TYPE_CHECKING:\n    import a\n    if True:\n        import b\nelse:\n    import c\nif TYPE_CHECKING: import d\nif not TYPE_CHECKING:\n    import e\nif TYPE_CHECKING and x:\n    import f\n",
			[]string{"1 typing", "3 a type", "5 b type", "7 c", "8 d type", "10 e", "12 f"},
		},
		"python by name": {
			"a.py", "import_module('a.b', pkg)\nimportlib.import_module(\n    \"c\")\n__import__('d')\nimport_module(name)\nimport_module('x' + y)\nimport_module('no module')\n",
			[]string{"1 a.b dynamic", "3 c dynamic", "4 d dynamic"},
		},
		"python with a bracket that is never closed":   {"a.py", "x = (1,\nimport a\n", []string{"2 a"}},
		"python with windows' lines and other letters": {"a.py", "import a\r\nfrom b import (\r\n  ö,\r\n)\r\nx = 1 + \\\r\n  2\r\nimport c\r\n", []string{"1 a", "3 b [ö]", "7 c"}},
		"rust": {
			"a.rs", "use a::b;\npub(crate) use crate::c::{self, d as e, f::{g, h}};\nuse super::*;\nuse ::i::j;\nextern crate k as l;\nmod m;\npub mod n {}\n#[cfg(x)]\n#[path = \"q.rs\"]\npub mod o;\n",
			[]string{"1 a::b", "2 crate::c", "2 crate::c::d [e]", "2 crate::c::f::g", "2 crate::c::f::h", "3 super::*", "4 ::i::j", "5 k [l]", "6 m module", "10 o [q.rs] module"},
		},
		"rust that only talks of uses": {
			"a.rs", "/* use a::b; /* use c::d; */ use e::f; */\n// use g::h;\nconst A: &str = \"use i::j;\";\nconst B: &str = r##\"use k::l; \"# \"##;\nconst C: char = '\"';\nconst D: u8 = b'\\'';\nfn f<'a>(x: &'a str) -> impl T + use<'a> {}\nmacro_rules! m { () => { use n::o; mod p; } }\nlet q = quote! { use r::s; };\n",
			nil,
		},
		"rust in code": {
			"a.rs", "use std::fs;\nfn f() -> crate::t::R { fs::read(x)?; lib_a::run::<u8>(); u8::MAX; Vec::new(); crate::t::R; x.y::<z>(); if let ::c_x = 1 {} }\nlog!(crate::u::v());\n",
			[]string{"1 std::fs", "2 crate::t::R path", "2 lib_a::run path", "3 crate::u::v path"},
		},
		"rust within modules": {
			"a.rs", "mod tests {\n  use super::*;\n  use super::super::a;\n  use self::inner::b;\n  mod inner { use super::super::c; mod d; }\n}\nuse tests::inner;\nuse super::e;\n",
			[]string{"2 self::*", "3 super::a", "4 self::tests::inner::b", "5 self::c", "5 tests::inner::d module", "7 self::tests::inner", "8 super::e"},
		},
		"c#": {
			"a.cs", "extern alias x;\nglobal using A.B;\nusing static A.C.D;\nusing E = F.G<int>;\nusing global::H.I;\nusing @J.K;\nnamespace L.M;\nusing N;\n",
			[]string{"2 A.B", "3 A.C.D", "4 F.G", "5 H.I", "6 J.K", "8 N [L.M]"},
		},
		"c# that only talks of usings": {
			"a.cs", "// using A;\n/* using B; */\nvar a = @\"\nusing C; \"\" \";\nvar b = $\"{x(\"using D;\")} {{ using E;\";\nvar c = \"\"\"\n using F; \"\" \"\"\";\n" +
				"using var d = G.H();\nusing (I.J()) {}\nusing K.L m = new();\nclass M { void N() { using O; } char p = '\"'; }\n#region using Q;\nusing R;\n",
			[]string{"13 R"},
		},
		"c# with branches": {
			"a.cs", "#if X\nnamespace A { class B {\n#else\nnamespace A { class C {\n#endif\n}}\nusing D;\n",
			[]string{"7 D"},
		},
		"no language":              {"a.txt", "import a", nil},
		"a language without facts": {"a.rb", "require 'a'", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, err := Extract(c.file, []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, written(facts.Imports)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExtractDeclarations(t *testing.T) {
	t.Parallel()
	facts, err := Extract("a.cs", []byte(`
[assembly: X(typeof(class))]
namespace A.B {
	public class C<T> : D where T : class, new() { class Nested {} enum Inner { One } }
	namespace E { internal readonly record struct F(int G); public delegate Task<H> I<J>(K l); }
}
namespace A.B { interface IM {} public record N; static partial class C<T> {} }
enum O { P }
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A.B", "A.B.E"}, facts.Packages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"C", "F", "I", "IM", "N", "O"}, facts.Types); diff != "" {
		t.Error(diff)
	}
	facts, err = Extract("a.go", []byte("package orders // import \"example.com/orders\"\n"))
	if err != nil || !slices.Equal(facts.Packages, []string{"orders"}) {
		t.Errorf("%v %v", facts, err)
	}
}

func TestExtractEncodings(t *testing.T) {
	t.Parallel()
	facts, err := Extract("a.py", []byte("\xef\xbb\xbfimport a"))
	if err != nil || !slices.Equal(written(facts.Imports), []string{"1 a"}) {
		t.Errorf("UTF-8 with a mark: %v %v", facts, err)
	}
	facts, err = Extract("a.cs", []byte("\xff\xfeu\x00s\x00i\x00n\x00g\x00 \x00A\x00;\x00"))
	if err != nil || !slices.Equal(written(facts.Imports), []string{"1 A"}) {
		t.Errorf("UTF-16: %v %v", facts, err)
	}
	if _, err = Extract("a.py", []byte("import a\x00")); err == nil || !strings.Contains(err.Error(), "offset 8") {
		t.Errorf("a NUL byte: %v", err)
	}
}

// hostileTexts end what a scanner opened nowhere, or open it everywhere. A scanner that looks at a part again for each of its
// bytes takes hours for them.
var hostileTexts = []string{
	"\"", "'", "`", "\"\"\"", "'''", "{", "}", "(", "[", "$\"{", "$@\"{\"", "@", "$", "@$", "/*", "*/", "//", "\\", "#", "#if\n", "#else\n", "#[", "#!", "r#", "r#\"", "b'",
	"'\\", "'a", "use a::{", "use {", "mod a {", "mod a;", "namespace A {", "namespace A;", "using A.", "using ", "import a.", "from . import (", "from ", "if TYPE_CHECKING:\n ",
	"import_module(", "::", "a::", "a.", "!", "quote!{", "macro_rules! m", "delegate A<", "class ", "\n", "\r", "\t", "\xff", "ö", "import \"", "import (\n\"a\"\n", "package a\n",
}

func TestExtractHostileTexts(t *testing.T) {
	t.Parallel()
	const size = 1 << 16
	texts := []string{
		strings.Repeat("mod a {", size/14) + strings.Repeat("mod b;", size/12),
		"use " + strings.Repeat("a::", size/6) + "{" + strings.Repeat("b,", size/4) + "};",
		"from " + strings.Repeat("a.", size/4) + "a import " + strings.Repeat("b,", size/4),
		"namespace " + strings.Repeat("A.", size/4) + "A {" + strings.Repeat("using B;", size/16),
	}
	for _, piece := range hostileTexts {
		texts = append(texts, strings.Repeat(piece, size/len(piece)))
	}
	for _, piece := range texts {
		text := []byte(piece)
		for _, file := range []string{"a.go", "a.py", "a.rs", "a.cs"} {
			facts, err := Extract(file, text)
			if err != nil {
				t.Errorf("%.40q in %s: %v", piece, file, err)
			}
			checkFacts(t, text, facts)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, piece := range hostileTexts {
		f.Add([]byte(piece + piece))
	}
	f.Add([]byte("from a import (b,\nc)\nif TYPE_CHECKING:\n\timport d"))
	f.Add([]byte("pub use a::{b::{self, c as d}, e::*}; mod f { use super::g; } r#\"h\"#"))
	f.Add([]byte("namespace A.B { using C = D.E<F>; class G : H { string i = $\"{j:\"k\"}\"; } }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range []string{"a.go", "a.py", "a.rs", "a.cs"} {
			if facts, err := Extract(file, text); err == nil {
				checkFacts(t, text, facts)
			}
		}
	})
}
