package imports

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// treeOf is a commit that holds these files.
type treeOf map[string]string

func (t treeOf) Files() []string { return slices.Sorted(maps.Keys(t)) }

func (t treeOf) Read(path string) ([]byte, error) {
	text, ok := t[path]
	if !ok {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return []byte(text), nil
}

// resolverOf makes a resolver of a tree whose files are extracted first.
func resolverOf(t *testing.T, tree Tree) *Resolver {
	t.Helper()
	facts := map[string]Facts{}
	for _, file := range tree.Files() {
		if !IsExtractable(LanguageOf(file)) {
			continue
		}
		text, err := tree.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if facts[file], err = Extract(file, text); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewResolver(t.Context(), tree, facts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// meaning is a resolution in one line: its files, or its verdict.
func meaning(r Resolution) string {
	if r.Verdict == Internal {
		return strings.Join(r.Files, " ")
	}
	return "(" + string(r.Verdict) + ")"
}

func TestResolveTypeScript(t *testing.T) {
	t.Parallel()
	shop := treeOf{
		"package.json":       `{"name": "shop", "private": true, "workspaces": {"packages": ["packages/*", "apps/*", "!packages/old"]}, "devDependencies": {"vite": "^5"}}`,
		"tsconfig.base.json": "{\n // shared\n \"compilerOptions\": {\"paths\": {\"@acme/deep/*\": [\"packages/deep/src/*\"], \"exact\": [\"./packages/ui/src/theme\"],},},\n}",
		"apps/web/package.json": `{"name": "web", "dependencies": {"@acme/ui": "*", "react": "18", "renamed": "npm:other@1", "linked": "link:../../tools/linked"},
			"imports": {"#env": {"node": "./src/env.node.ts", "default": "./src/env.ts"}, "#lib/*": "./src/lib/*.js", "#react": "react"}}`,
		"apps/web/tsconfig.json":     `{"files": [], "references": [{"path": "./tsconfig.app.json"}, {"path": "../../packages/ui"}]}`,
		"apps/web/tsconfig.app.json": `{"extends": "../../tsconfig.base", "compilerOptions": {"baseUrl": "./src", "paths": {"~widgets/*": ["widgets/*", "old/*"], "~widgets/special/*": ["special/*"]}}}`,
		"apps/web/vite.config.ts":    `export default { resolve: { alias: { '@img': path.resolve(__dirname, 'assets/img'), "@x/": fileURLToPath(new URL('./x', import.meta.url)) } } }`,
		"apps/web/src/main.ts":       "", "apps/web/src/app.tsx": "", "apps/web/src/env.ts": "", "apps/web/src/style.css": "",
		"apps/web/src/lib/index.ts": "", "apps/web/src/lib/money.ts": "", "apps/web/src/lib/money.js": "", "apps/web/src/lib/old.js": "",
		"apps/web/src/widgets/a.ts": "", "apps/web/src/old/b.ts": "", "apps/web/src/special/c.ts": "", "apps/web/src/types.d.ts": "",
		"apps/web/src/Page.vue": "", "apps/web/assets/img/logo.svg": "", "apps/web/x/y.ts": "", "apps/web/public/icon.png": "",
		"packages/ui/package.json": `{"name": "@acme/ui", "main": "dist/index.cjs", "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.mjs"},
			"./button": "./dist/button/index.js", "./icons/*": "./dist/icons/*.js", "./package.json": "./package.json"}}`,
		"packages/ui/tsconfig.json": `{"extends": "@acme/tsconfig/base.json", "compilerOptions": {"rootDirs": ["src", "generated"]}}`,
		"packages/ui/src/index.ts":  "", "packages/ui/src/button/index.tsx": "", "packages/ui/src/icons/cart.tsx": "", "packages/ui/src/theme.ts": "",
		"packages/ui/generated/tokens.ts": "",
		"packages/deep/package.json":      `{"name": "@acme/deep", "module": "lib/deep.esm.js", "dependencies": {"@acme/ui": "workspace:*"}}`,
		"packages/deep/src/index.ts":      "", "packages/deep/src/far/off.ts": "",
		"packages/tsconfig/package.json": `{"name": "@acme/tsconfig"}`,
		"packages/tsconfig/base.json":    `{"compilerOptions": {"paths": {"tokens": ["../ui/generated/tokens.ts"]}}}`,
		"packages/loose/package.json":    `{"name": "loose"}`, "packages/loose/src/a.js": "", "packages/loose/src/b.js": "", "packages/loose/src/b.test.js": "",
		"packages/old/package.json": `{"name": "old"}`, "packages/old/index.js": "",
		"tools/linked/package.json": `{"name": "other-name", "main": "./start.js"}`, "tools/linked/start.js": "",
	}
	site := treeOf{
		"package.json": `{"name": "site", "devDependencies": {"@sveltejs/kit": "2"}}`, "tsconfig.json": `{"extends": "./.svelte-kit/tsconfig.json"}`,
		"svelte.config.js":     `export default { kit: { alias: { $content: 'content', '$ui/*': './src/ui/*' } } }`,
		"src/lib/money.svelte": "", "src/lib/index.ts": "", "src/lib/state.svelte.ts": "", "src/routes/+page.ts": "", "content/index.ts": "", "src/ui/x.ts": "",
	}
	vue := treeOf{"package.json": "{}", "src/main.js": "", "src/stores/cart.js": "", "src/views/Home.vue": "", "helpers/money.js": ""}
	tests := map[string]struct {
		tree treeOf
		file string
		want map[string]string
	}{
		"relative": {shop, "apps/web/src/main.ts", map[string]string{
			"./app": "apps/web/src/app.tsx", "./app.js": "apps/web/src/app.tsx", "./lib": "apps/web/src/lib/index.ts", "./lib/": "apps/web/src/lib/index.ts",
			"./lib/money": "apps/web/src/lib/money.ts", "./lib/money.js": "apps/web/src/lib/money.ts", "./lib/old": "apps/web/src/lib/old.js",
			"./types": "apps/web/src/types.d.ts", "./Page.vue": "apps/web/src/Page.vue", "./style.css?inline": "apps/web/src/style.css",
			"./gone.css": "(external)", "./gone": "(unresolved)", "../../../../out": "(unresolved)", "../../../packages/ui": "packages/ui/src/index.ts",
			"..": "(unresolved)",
		}},
		"configured": {shop, "apps/web/src/main.ts", map[string]string{
			"~widgets/a": "apps/web/src/widgets/a.ts", "~widgets/b": "apps/web/src/old/b.ts", "~widgets/special/c": "apps/web/src/special/c.ts",
			"lib/money": "apps/web/src/lib/money.ts", "@img/logo.svg": "apps/web/assets/img/logo.svg", "@x/y": "apps/web/x/y.ts", "/icon.png": "apps/web/public/icon.png",
			"/gone.png": "(external)", "/gone": "(unresolved)",
		}},
		"packages": {shop, "apps/web/src/main.ts", map[string]string{
			"@acme/ui": "packages/ui/src/index.ts", "@acme/ui/button": "packages/ui/src/button/index.tsx", "@acme/ui/icons/cart": "packages/ui/src/icons/cart.tsx",
			"@acme/ui/package.json": "packages/ui/package.json", "@acme/ui/src/theme": "packages/ui/src/theme.ts", "@acme/ui/gone": "packages/ui/src/index.ts",
			"@acme/deep": "packages/deep/src/index.ts", "@acme/deep/far/off": "packages/deep/src/far/off.ts",
			"loose": "packages/loose/src/a.js packages/loose/src/b.js", "web/src/app": "apps/web/src/app.tsx", "linked": "tools/linked/start.js",
			"old": "(external)", "react": "(external)", "react/jsx-runtime": "(external)", "renamed": "(external)", "vite": "(external)", "undeclared": "(external)",
			"fs/promises": "(external)", "node:fs": "(external)", "virtual:pwa": "(external)", "https://example.com/x.js": "(external)", "Bad Name!": "(unresolved)",
			"@/app": "apps/web/src/app.tsx", "@/gone": "(unresolved)", "~/src/env": "apps/web/src/env.ts", "raw-loader!./app": "apps/web/src/app.tsx",
		}},
		"imports of the package": {shop, "apps/web/src/main.ts", map[string]string{
			"#env": "apps/web/src/env.ts", "#lib/money": "apps/web/src/lib/money.ts", "#react": "(external)", "#gone": "(unresolved)",
		}},
		"extends of a package, rootDirs": {shop, "packages/ui/src/index.ts", map[string]string{
			"tokens": "packages/ui/generated/tokens.ts", "./tokens": "packages/ui/generated/tokens.ts", "#x": "(unresolved)", "@acme/ui": "packages/ui/src/index.ts",
		}},
		"SvelteKit": {site, "src/routes/+page.ts", map[string]string{
			"$lib": "src/lib/index.ts", "$lib/money.svelte": "src/lib/money.svelte", "$lib/state.svelte.js": "src/lib/state.svelte.ts", "$content": "content/index.ts",
			"$ui/x": "src/ui/x.ts", "$app/state": "(external)", "$env/static/private": "(external)", "./$types": "(external)", "$lib/gone": "(unresolved)", "$other": "(unresolved)",
		}},
		"aliases by convention": {vue, "src/main.js", map[string]string{
			"@/stores/cart": "src/stores/cart.js", "@/views/Home": "src/views/Home.vue", "src/stores/cart": "src/stores/cart.js", "~/helpers/money": "helpers/money.js",
			"@/gone.svg": "(external)", "@/gone": "(unresolved)", "stores/cart": "(unresolved)", "vue": "(external)",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolverOf(t, test.tree)
			got := map[string]string{}
			for spec := range test.want {
				resolution := r.Resolve(test.file, Import{Spec: spec, Line: 1})
				got[spec] = meaning(resolution)
				if (resolution.Verdict == Unresolved) != (resolution.Reason != "") {
					t.Errorf("%s is %s, reason %q", spec, resolution.Verdict, resolution.Reason)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("meanings (-want +got):\n%s", diff)
			}
			if unread := r.Unread(); len(unread) > 0 {
				t.Errorf("unread manifests: %v", unread)
			}
		})
	}
}

func TestManifestsOfPackages(t *testing.T) {
	t.Parallel()
	r := resolverOf(t, treeOf{
		"pnpm-workspace.yaml":     "packages:\n  - 'libs/**'\n  - apps/*\n",
		"libs/a/package.json":     "{\n \"name\": \"a\",\n \"dependencies\": {\n  \"b\": \"workspace:^\",\n  \"left\": \"1\"\n }\n}",
		"libs/x/b/package.json":   `{"name": "b", "main": 7, "devDependencies": {"tool": "file:../../../tools/tool"}}`,
		"apps/c/package.json":     `{"name": "c", "dependencies": {"a": "1.0.0"}}`,
		"apps/c/tsconfig.json":    `{"references": [{"path": "../../libs/a"}]}`,
		"libs/a/tsconfig.json":    `{"extends": "./tsconfig.json"}`,
		"tools/tool/package.json": `{"name": "tool"}`,
		"broken/package.json":     `{"name": `,
		"broken/tsconfig.json":    `[]`,
	})
	want := []ManifestDependency{
		{Manifest: "apps/c/package.json", Line: 1, From: "apps/c", To: "libs/a"},
		{Manifest: "apps/c/tsconfig.json", From: "apps/c", To: "libs/a"},
		{Manifest: "libs/a/package.json", Line: 4, From: "libs/a", To: "libs/x/b"},
		{Manifest: "libs/x/b/package.json", Line: 1, From: "libs/x/b", To: "tools/tool"},
	}
	if diff := cmp.Diff(want, r.Dependencies()); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	var unread []string
	for _, u := range r.Unread() {
		unread = append(unread, u.Path)
	}
	if diff := cmp.Diff([]string{"broken/package.json", "broken/tsconfig.json"}, unread); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}

func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte("{\"a\": [1, /* , */ 2,], // x\n \"b//\": \"\\\"/*\",}"))
	f.Add([]byte("/*/ */ {}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out := plainJSON(text)
		if len(out) != len(text) {
			t.Errorf("%d bytes became %d", len(text), len(out))
		}
		var before, after any
		if json.Unmarshal(text, &before) == nil {
			if err := json.Unmarshal(out, &after); err != nil || cmp.Diff(before, after) != "" {
				t.Errorf("JSON that was plain changed: %v\n%s", err, out)
			}
		}
	})
}
