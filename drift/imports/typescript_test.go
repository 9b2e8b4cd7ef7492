package imports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shortly writes imports as "line spec kind".
func shortly(imports []Import) []string {
	var out []string
	for _, i := range imports {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s", i.Line, i.Spec, i.Kind)))
	}
	return out
}

func TestExtractTypeScript(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"import": {`import a from "./a"`, []string{"1 ./a"}},
		"every clause": {`
import './effect';
import b, { c as d, "e-f" as g } from './b'
import * as h from "./h";
import i, * as j from "./i";
import {} from "./k"`,
			[]string{"2 ./effect", "3 ./b", "4 ./h", "5 ./i", "6 ./k"}},
		"many lines count from the keyword": {"\n\nimport {\n a,\n b,\n} from './x'", []string{"3 ./x"}},
		"types": {`
import type { A } from './a'
import type B from './b'
import type * as C from './c'
import { type D, type E as F } from './d'
import { type G, h } from './e'
import i, { type J } from './f'
import type, { K } from './g'
import type from './h'
import type from/**/from './i'
import { type } from './j'
import { type as/**/as } from './k'
import { type as } from './l'
import typeof M from './m'`,
			[]string{"2 ./a type", "3 ./b type", "4 ./c type", "5 ./d type", "6 ./e", "7 ./f", "8 ./g", "9 ./h", "10 ./i type", "11 ./j",
				"12 ./k", "13 ./l type", "14 ./m type"}},
		"re-exports": {`
export * from './a'
export * as b from './b'
export { c, d as default } from './c'
export type { E } from './e'
export { type F } from './f'
export type * from './g'
export { h }
export type I = { from: './i' }
export default from
export const j = './j'`,
			[]string{"2 ./a reexport", "3 ./b reexport", "4 ./c reexport", "5 ./e type", "6 ./f type", "7 ./g type"}},
		"import equals": {`
import a = require("./a")
export import b = require('./b')
import type c = require("./c")
import d = A.B.C`, []string{"2 ./a", "3 ./b", "4 ./c type"}},
		"require": {`
const a = require('./a')
if (a) { require("./b") }
function f(): Promise<void> { return require('./c') }
const g = () => require('./d')
class K { m() { require('./e') } }
module.exports = { x: require('./f'), ...require('./g') }
x.require('./h'); require.resolve('./i'); require(name); require('./j' + name); jest.mock('./k')
function require(x) {}`,
			[]string{"2 ./a", "3 ./b", "4 ./c dynamic", "5 ./d dynamic", "6 ./e dynamic", "7 ./f", "7 ./g"}},
		"dynamic": {`
const a = await import('./a')
const b = lazy(() => import(/* chunk: "b" */ './b'))
import('./c').then(m => m.x)
import(` + "`./d`" + `)
import('./e', { with: { type: 'json' } })
import(` + "`./${f}`" + `); import(g); x.import('./h'); import.meta.url
class K { import(x: string) {} }
(await import('./i')).default; await import('./j').k`,
			[]string{"2 ./a dynamic", "3 ./b dynamic", "4 ./c dynamic", "5 ./d dynamic", "6 ./e dynamic", "9 ./i dynamic", "9 ./j dynamic"}},
		"in types": {`
type A = import('./a').A
let b: typeof import('./b')
function f(x: import("./c").C<import('./d').D>) {}`, []string{"2 ./a type", "3 ./b type", "4 ./c type", "4 ./d type"}},
		"references": {`/// <reference path="types.d.ts" />
/// <reference types="node" />
/// <reference path='../env.d.ts' />
let a
/// <reference path="late.d.ts" />`, []string{"1 ./types.d.ts type", "3 ../env.d.ts type"}},
		"declared modules are no imports": {`declare module "x" { import a from "./a"; export { b } from "./b" }
declare module 'y';`, []string{"1 ./a", "1 ./b reexport"}},
		"comments": {`// import a from "./a"
/* import b from "./b"
import c from "./c" */ import d /* from "x" */ from /* y */ "./d"
import e // from "./f"
  from './e'`, []string{"3 ./d", "4 ./e"}},
		"strings and templates": {"" +
			"const a = 'import b from \"./b\"', c = \"it\\\"s import './c'\"\n" +
			"const d = `import e from './e' ${ f(`${require('./g')} import './h'`, { i: '}' }) } import './j'\n`\n" +
			"import './k'", []string{"2 ./g", "4 ./k"}},
		"a string that is not closed ends with its line": {"const a = 'b\nimport './c'", []string{"2 ./c"}},
		"a continued string":                             {"const a = 'b \\\nimport \"./x\"'\nimport './c'", []string{"3 ./c"}},
		"regular expressions": {"a = /import '.\\/a'[/'`]/g\nif (x) /`/.test(y)\nb = c / d; e = f / `g`\nreturn /'/\nh = i++ / 2 / j\nk = l! / m; n = {} / '2'\nimport './o'",
			[]string{"7 ./o"}},
		"JSX text": {`
const a = <div title="don't
  mind">it's {require('./a')} // no comment <b>` + "`" + `</b> import b from "./b"</div>
const c = cond && <C {...p} on={() => <i>'</i>} d='"' />
const e = <><E.F>'</E.F>{/* ' */}</>
import './g'`, []string{"3 ./a", "6 ./g"}},
		"angle brackets that are no JSX": {`
const a = <T>(x: T) => x, b = <T,>(x: T) => x, c = <T extends object>(x: T) => x
const d = <Foo>bar, e = f < g, h = new Map<string, Array<number>>()
import './i'`, []string{"4 ./i"}},
		"generic JSX": {"const a = <Select<string> value='`'>it's</Select>\nimport './b'", []string{"2 ./b"}},
		"members and properties": {`a.import('./a'); b = { import: './b', export: './c', require: './d' }; c.from('./e')
export default class { from() { return './f' } }`, nil},
		"escapes":              {`import "./\u0061\x62\u{63}\'"`, []string{"1 ./abc'"}},
		"no end of statements": {"import a from './a'\nimport b from './b'\nexport * from './c'", []string{"1 ./a", "2 ./b", "3 ./c reexport"}},
		"broken":               {"import { a from './a'\nimport from\nexport {\nimport b from './b'", []string{"4 ./b"}},
		"phases":               {"import defer * as a from './a'\nimport source b from './b'\nimport defer from './c'", []string{"1 ./a", "2 ./b", "3 ./c"}},
		"a hashbang":           {"#!/usr/bin/env node it's\nimport './a'", []string{"2 ./a"}},
		"attributes":           {"import a from './a.json' with { type: 'json' }\nimport './b'", []string{"1 ./a.json", "2 ./b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shortly(extractTypeScript([]byte(test.text)).Imports)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
			crlf := shortly(extractTypeScript([]byte(strings.ReplaceAll(test.text, "\n", "\r\n"))).Imports)
			if diff := cmp.Diff(test.want, crlf); diff != "" {
				t.Errorf("imports with CRLF (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExtractComponents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		extract extractor
		text    string
		want    []string
	}{
		"Svelte": {extractSvelte, `<!-- <script>import './no'</script> -->
<script context="module" lang="ts">
  import type { A } from './a'
</script>
<script generics="T extends Record<string, U>">
  import B from './B.svelte'
</script>
<p>import c from './c'; it's {x < y}</p>
{#await import('./d.svelte') then D}<D.default/>{/await}
<style>a::before { content: "<script>import './e'</script>" }</style>`,
			[]string{"3 ./a type", "6 ./B.svelte", "9 ./d.svelte dynamic"}},
		"Vue": {extractVue, `<template>
  <template #head><a title="</template>">import('./no')</a></template><template #b />
  <script>import './no'</script>
</template>
<script setup lang="ts">
import a from './a'
</script>
<SCRIPT src="./b.ts"></SCRIPT>
<script src="./c.js" />
<docs>
<script>import './no'</script>
</docs>
<style>@import './no'</style>
<script>export { d } from './d'</script>`,
			[]string{"6 ./a", "8 ./b.ts", "9 ./c.js", "14 ./d reexport"}},
		"a script that is not closed": {extractVue, "<script>\nimport './a'", []string{"2 ./a"}},
		"a script of elsewhere":       {extractSvelte, `<script src="https://example.com/x.js"></script>`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, shortly(test.extract([]byte(test.text)).Imports)); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

// hostile are texts that nest, or never end, as often as a file allows.
var hostile = []string{
	"`", "${", "`${", "(", "{", "<a>", "<a ", "</", "<a b={", "/", "/[", "/*", "//", "'", "\"", "\"\"\"", "'\\", "\\", "import(", "import(/*",
	"import {", "export {a,", "<script>", "<script ", "<template>", "<!--", "{import('", "\"${", "s\"${", "\"\"\"${", "import a.{",
	"package a{", "fun <", "@file:JvmName(\"", "package object ", "a.", "import a.b,", "val ", "class ",
}

// Texts of a quarter of a megabyte that nest or never end are read in time linear in their size: quadratic time would not end within
// the limit of the tests.
func TestExtractHostileScripts(t *testing.T) {
	t.Parallel()
	for _, extract := range []extractor{extractTypeScript, extractSvelte, extractVue, extractJava, extractKotlin, extractScala} {
		for _, piece := range hostile {
			text := bytes.Repeat([]byte(piece), 1<<18/len(piece))
			facts := extract(text)
			if !slices.IsSortedFunc(facts.Imports, func(a, b Import) int { return a.Line - b.Line }) {
				t.Errorf("%q: the imports are not in order of lines", piece)
			}
		}
	}
}

// checkFacts is what must hold for the facts of any text.
func checkFacts(t *testing.T, text []byte, facts Facts) {
	t.Helper()
	lines := bytes.Count(text, []byte{'\n'}) + 1
	last := 1
	for _, i := range facts.Imports {
		if i.Line < last || i.Line > lines {
			t.Errorf("%q is said to be in line %d, after one in line %d, of %d", i.Spec, i.Line, last, lines)
		}
		last = i.Line
		if i.Spec == "" || strings.ToValidUTF8(i.Spec, "") != i.Spec {
			t.Errorf("the import in line %d is %q", i.Line, i.Spec)
		}
	}
	for _, name := range slices.Concat(facts.Packages, facts.Types) {
		if name == "" || strings.ToValidUTF8(name, "") != name {
			t.Errorf("%q is declared", name)
		}
	}
}

func FuzzExtractTypeScript(f *testing.F) {
	f.Add([]byte("import a, {type b} from './a'; export * from `./${b}`; <a b='c'>{import('./d')}</a>; /e/.f(require('g'))"))
	f.Add([]byte("<script src='x'>import a from 'b'</script><template><template/></template>{import('c')}"))
	for _, piece := range hostile {
		f.Add([]byte(piece))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkFacts(t, text, extractTypeScript(text))
		checkFacts(t, text, extractSvelte(text))
		checkFacts(t, text, extractVue(text))
	})
}
