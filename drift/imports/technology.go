package imports

import (
	"slices"
	"strings"
	"unicode"
)

// Groups of languages that one word stands for. A word gives every language that its files may well be in, since what is
// asked is whether none of them is there.
var (
	jvm       = []Language{Java, Kotlin, Scala, Groovy}
	web       = []Language{TypeScript, JavaScript, Vue, Svelte}
	dotNet    = []Language{CSharp, FSharp, VisualBasic, ASP}
	cFamily   = []Language{CPlusPlus, C, CUDA}
	pythonSet = []Language{Python}
	rubySet   = []Language{Ruby}
	phpSet    = []Language{PHP}
	rustSet   = []Language{Rust}
)

// words are what a technology field may say anywhere in it, in lower case, without a version. It is closed, and holds no
// databases, protocols, products that one installs, or pages and styles, which every language may make.
var words = map[string][]Language{
	// Languages.
	"c#": {CSharp, ASP}, "csharp": {CSharp, ASP}, "c++": cFamily, "cpp": cFamily, "clojure": {Clojure}, "clojurescript": {Clojure},
	"cobol": {COBOL}, "cuda": cFamily, "cython": pythonSet, "dart": {Dart}, "delphi": {Pascal}, "elixir": {Elixir},
	"erlang": {Erlang}, "f#": {FSharp}, "fortran": {Fortran}, "golang": {Go}, "groovy": {Groovy}, "haskell": {Haskell},
	"java": {Java}, "javascript": {JavaScript, Vue, Svelte}, "kotlin": {Kotlin}, "lua": {Lua}, "objective-c": {ObjectiveC, C},
	"ocaml": {OCaml}, "perl": {Perl}, "php": phpSet, "powershell": {PowerShell}, "python": pythonSet, "ruby": rubySet,
	"rust": rustSet, "scala": {Scala}, "solidity": {Solidity}, "typescript": {TypeScript, Vue, Svelte}, "vb.net": {VisualBasic, ASP},
	"bash": {Shell}, "terraform": {HCL}, "opentofu": {HCL}, "t-sql": {SQL}, "plpgsql": {SQL},

	// The JVM.
	"spring": jvm, "springboot": jvm, "spring-boot": jvm, "quarkus": jvm, "micronaut": jvm, "dropwizard": jvm, "jakarta": jvm,
	"j2ee": jvm, "jee": jvm, "jax-rs": jvm, "jaxrs": jvm, "servlet": jvm, "servlets": jvm, "hibernate": jvm, "vert.x": jvm, "grails": jvm,
	"vaadin": jvm, "akka": jvm, "javafx": jvm, "ktor": {Kotlin}, "struts": jvm, "thymeleaf": jvm,

	// The web.
	"node.js": web, "nodejs": web, "deno": web, "react": web, "react.js": web, "reactjs": web, "next.js": web, "nextjs": web,
	"angular": web, "angularjs": web, "vue": web, "vue.js": web, "vuejs": web, "nuxt": web, "nuxt.js": web, "nuxtjs": web, "svelte": web,
	"sveltekit": web, "nestjs": web, "nest.js": web, "express.js": web, "expressjs": web, "fastify": web, "jquery": web,
	"electron": web, "ember.js": web, "preact": web, "solidjs": web, "redux": web,

	// .NET.
	".net": dotNet, "dotnet": dotNet, "asp.net": dotNet, "blazor": dotNet, "wpf": dotNet, "winforms": dotNet, "xamarin": dotNet,

	// Python.
	"django": pythonSet, "flask": pythonSet, "fastapi": pythonSet, "sqlalchemy": pythonSet, "pyspark": pythonSet,
	"streamlit": pythonSet, "pandas": pythonSet, "numpy": pythonSet, "pytorch": {Python, CPlusPlus}, "pydantic": pythonSet,
	"starlette": pythonSet, "uvicorn": pythonSet, "gunicorn": pythonSet, "pyqt": pythonSet,

	// Others.
	"rails": rubySet, "sinatra": rubySet, "laravel": phpSet, "symfony": phpSet, "tokio": rustSet, "actix": rustSet,
	"actix-web": rustSet, "axum": rustSet, "tauri": {Rust, TypeScript, JavaScript, Vue, Svelte}, "swiftui": {Swift},
	"flutter": {Dart}, "arduino": cFamily, "gin-gonic": {Go},
}

// items are what an item of the field says only when it says nothing else, because the words mean other things too.
var items = map[string][]Language{
	"c": {C}, "c99": {C}, "c11": {C}, "c17": {C}, "pl": {SQL}, // of PL/SQL
	"r": {R}, "d": {D}, "go": {Go}, "swift": {Swift}, "julia": {Julia}, "crystal": {Crystal}, "elm": {Elm}, "nim": {Nim},
	"zig": {Zig}, "shell": {Shell}, "shell script": {Shell}, "shell scripts": {Shell}, "assembly": {Assembly}, "pascal": {Pascal},
	"visual basic": {VisualBasic, ASP}, "vb": {VisualBasic, ASP}, "express": web, "node": web, "bun": web, "java ee": jvm,
	"jakarta ee": jvm, "play framework": jvm, "unity": {CSharp},
}

// Languages gives the languages that the technology of a C4 element names, sorted: those of every word of a closed
// dictionary, so "Spring Boot" gives the languages of the JVM and "JavaScript and Spring MVC" these and JavaScript. A
// technology that names none gives none; so do databases, protocols and products. It is made for asking whether files hold
// none of the languages, and leaves out what is doubtful.
func Languages(technology string) []Language {
	var out []Language
	for _, item := range strings.FieldsFunc(technology, separatesItems) {
		tokens := strings.Fields(item)
		for _, phrase := range phrases(tokens) {
			out = append(out, items[strings.ToLower(phrase)]...)
		}
		for at, token := range tokens {
			word := bare(token)
			out = append(out, words[strings.ToLower(word)]...)
			if (word == "Go" || word == "GO") && isLanguageGo(tokens, at) {
				out = append(out, Go)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// separatesItems tells what stands between the items of a list.
func separatesItems(r rune) bool { return strings.ContainsRune("/,;|&()[]{}:<>\"'\n", r) }

// joiners are the words between items.
var joiners = map[string]bool{"and": true, "or": true, "with": true, "in": true, "on": true, "using": true, "+": true, "-": true}

// phrases splits the words of an item at joiners, and leaves out versions.
func phrases(tokens []string) []string {
	var out, phrase []string
	for _, token := range tokens {
		if joiners[strings.ToLower(token)] {
			out, phrase = append(out, strings.Join(phrase, " ")), nil
			continue
		}
		if word := bare(token); word != "" {
			phrase = append(phrase, word)
		}
	}
	return append(out, strings.Join(phrase, " "))
}

// bare is a word without its version and what hangs on it: "python3.11", "Java-based" and "C#." as "python", "Java", "C#".
// One letter and a number is a name (D3, R2, C4); what is nothing but a version is "".
func bare(token string) string {
	token = strings.TrimSuffix(strings.TrimRight(token, ".!?*"), "-based")
	word := strings.TrimRightFunc(token, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(".^~", r) })
	if len(word) == 1 {
		return strings.TrimPrefix(token, "v")
	}
	return word
}

// isLanguageGo tells the language from the verb, as in "to Go", "on the Go" and "Go to".
func isLanguageGo(tokens []string, at int) bool {
	if at > 0 && slices.Contains([]string{"the", "to", "ready"}, strings.ToLower(tokens[at-1])) {
		return false
	}
	return at+1 == len(tokens) || !slices.Contains([]string{"to", "live"}, strings.ToLower(tokens[at+1]))
}
