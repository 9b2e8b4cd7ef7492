package imports

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

// nodeBuiltins are the modules of Node.js that have names without node: (module.builtinModules of Node.js 20), and
// what bundlers and Bun have by the same way of naming.
var nodeBuiltins = setOf("assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
	"diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module", "net", "os", "path",
	"perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream", "string_decoder", "sys", "timers", "tls",
	"trace_events", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib", "bun")

// assetExtensions are of files that scripts import and that import no scripts. One that is not tracked is generated or
// fetched, and says nothing about the code.
var assetExtensions = setOf(".css", ".scss", ".sass", ".less", ".styl", ".pcss", ".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp",
	".avif", ".ico", ".bmp", ".woff", ".woff2", ".ttf", ".eot", ".otf", ".mp3", ".mp4", ".webm", ".wav", ".ogg", ".pdf", ".txt", ".md",
	".mdx", ".html", ".graphql", ".gql", ".wasm", ".glsl", ".frag", ".vert", ".json", ".json5", ".jsonc", ".yaml", ".yml", ".toml",
	".csv", ".xml", ".hbs", ".ejs", ".pug", ".node", ".po", ".ftl")

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func isAsset(file string) bool { return assetExtensions[strings.ToLower(path.Ext(file))] }

func isScript(file string) bool {
	language := LanguageOf(file)
	return language == TypeScript || language == JavaScript || language == Svelte || language == Vue
}

// splitPackage splits a specifier into the name of a package, with its scope, and what follows.
func splitPackage(spec string) (name, rest string) {
	name, rest, _ = strings.Cut(spec, "/")
	if strings.HasPrefix(name, "@") && rest != "" {
		second, more, _ := strings.Cut(rest, "/")
		return name + "/" + second, more
	}
	return name, rest
}

var (
	scheme      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	packageName = regexp.MustCompile(`^(@[A-Za-z0-9~_.-]+/)?[A-Za-z0-9~_.-]+$`)
)

// hasScheme tells node:fs, https://…, virtual:x and the like, none of which is a file.
func hasScheme(spec string) bool { return scheme.MatchString(spec) }

func isPackageName(name string) bool { return packageName.MatchString(name) }

// alias is a prefix of specifiers for which a bundler's configuration names a path.
type alias struct {
	prefix string
	target string
}

// apply gives the path that the alias gives for a specifier.
func (a alias) apply(spec string) (string, bool) {
	rest, ok := strings.CutPrefix(spec, a.prefix)
	if !ok || rest != "" && rest[0] != '/' && !strings.HasSuffix(a.prefix, "/") {
		return "", false
	}
	return path.Join(a.target, rest), true
}

// Configurations of bundlers are programs. Read are the three usual ways to write an alias with a literal path:
// '@': path.resolve(__dirname, 'src'), '@': fileURLToPath(new URL('./src', import.meta.url)), $x: 'src/x', each also as
// { find: '@', replacement: … }.
var (
	bundlerAlias = regexp.MustCompile(`(?:find:\s*|[{,\s])['"]?([@$~#A-Za-z][\w@$~#/.*-]*|[@~#])['"]?\s*(?::|,\s*replacement:)\s*` +
		`(?:(?:path\.)?(?:resolve|join)\(\s*(?:__dirname|import\.meta\.dirname|process\.cwd\(\))\s*,|fileURLToPath\(\s*new URL\()\s*['"]([^'"\n]+)['"]`)
	svelteAlias = regexp.MustCompile(`['"]?([@$~#][\w@$~#/.*-]*)['"]?\s*:\s*['"](\.{0,2}/?[\w$][^'"\n]*)['"]`)
)

// bundlerAliases reads the aliases of the configurations of Vite, Vitest, Svelte, webpack, Astro and Vue, by folder.
func bundlerAliases(repo *repository) map[string][]alias {
	aliases := map[string][]alias{}
	for _, file := range repo.named(isBundlerConfig) {
		text, ok := repo.manifest(file)
		if !ok || !bytes.Contains(text, []byte("alias")) {
			continue
		}
		folder := path.Dir(file)
		found := bundlerAlias.FindAllSubmatch(text, -1)
		if strings.HasPrefix(path.Base(file), "svelte.config.") {
			found = append(found, svelteAlias.FindAllSubmatch(text, -1)...)
		}
		for _, match := range found {
			prefix := strings.TrimSuffix(string(match[1]), "/*")
			target := strings.TrimSuffix(string(match[2]), "/*")
			aliases[folder] = append(aliases[folder], alias{prefix: prefix, target: path.Join(folder, target)})
		}
	}
	return aliases
}

func isBundlerConfig(base string) bool {
	tool, rest, ok := strings.Cut(base, ".config.")
	if !ok || !byJSExtension[rest] {
		return false
	}
	switch tool {
	case "vite", "vitest", "electron.vite", "svelte", "webpack", "astro", "vue", "rspack", "rsbuild":
		return true
	}
	return false
}

var byJSExtension = setOf("js", "mjs", "cjs", "ts", "mts", "cts")

// looksLikeAlias tells specifiers that by convention are aliases of the project, and that no package is called.
func looksLikeAlias(spec string) bool {
	for _, prefix := range []string{"@/", "~/", "~~/", "@@/", "src/", "$"} {
		if strings.HasPrefix(spec, prefix) {
			return true
		}
	}
	return spec == "@" || spec == "~"
}

// guess resolves what looks like an alias where no configuration says what it means, by the conventions of SvelteKit ($lib is
// src/lib), Vue, Nuxt and Next.js (@/ and ~/ are src, app or the package's folder).
func (r *typeScriptResolver) guess(file, spec string) Resolution {
	root := "."
	if p := r.packageOf(file); p != nil {
		root = p.folder
	}
	if rest, ok := strings.CutPrefix(spec, "$"); ok {
		name, rest, _ := strings.Cut(rest, "/")
		switch name {
		case "lib":
			if found := r.find(path.Join(root, "src/lib", rest)); found != "" {
				return internal(found)
			}
		case "app", "env", "service-worker": // SvelteKit's own
			return external()
		}
		return unresolved("%s looks like an alias, and no configuration names a file for it", spec)
	}
	prefix, rest, _ := strings.Cut(spec, "/")
	folders := []string{path.Join(root, "src"), path.Join(root, "app"), root}
	if prefix == "src" {
		folders = folders[:1]
	}
	for _, folder := range folders {
		if found := r.find(path.Join(folder, rest)); found != "" {
			return internal(found)
		}
	}
	if isAsset(spec) {
		return external()
	}
	return unresolved("%s looks like an alias, and no configuration names a file for it", spec)
}

// isSvelteKit tells whether the package of a file is an application of SvelteKit.
func (r *typeScriptResolver) isSvelteKit(file string) bool {
	return r.declaring(file, "@sveltejs/kit") != nil
}
