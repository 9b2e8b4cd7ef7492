package imports

import (
	"path"
	"strings"
)

// The languages that are known by the names of their files only. Extract gives no facts for them.
const (
	ASP         Language = "ASP.NET" // Razor and Web Forms pages
	Assembly    Language = "Assembly"
	C           Language = "C" // with headers, which C++ and Objective-C share
	CPlusPlus   Language = "C++"
	Clojure     Language = "Clojure"
	COBOL       Language = "COBOL"
	Crystal     Language = "Crystal"
	CSS         Language = "CSS" // with its preprocessors
	CUDA        Language = "CUDA"
	D           Language = "D"
	Dart        Language = "Dart"
	Elixir      Language = "Elixir"
	Elm         Language = "Elm"
	Erlang      Language = "Erlang"
	FSharp      Language = "F#"
	Fortran     Language = "Fortran"
	GraphQL     Language = "GraphQL"
	Groovy      Language = "Groovy"
	Haskell     Language = "Haskell"
	HCL         Language = "HCL"
	HTML        Language = "HTML" // with its templates
	Julia       Language = "Julia"
	Lua         Language = "Lua"
	Nim         Language = "Nim"
	Nix         Language = "Nix"
	ObjectiveC  Language = "Objective-C"
	OCaml       Language = "OCaml"
	Pascal      Language = "Pascal"
	Perl        Language = "Perl"
	PHP         Language = "PHP"
	PowerShell  Language = "PowerShell"
	Protobuf    Language = "Protocol Buffers"
	R           Language = "R"
	Ruby        Language = "Ruby"
	Shell       Language = "Shell"
	Solidity    Language = "Solidity"
	SQL         Language = "SQL"
	Starlark    Language = "Starlark"
	Swift       Language = "Swift"
	VisualBasic Language = "Visual Basic"
	Zig         Language = "Zig"
	Dockerfile  Language = "Dockerfile"
	Gradle      Language = "Gradle" // build scripts, in Groovy or Kotlin
	Makefile    Language = "Makefile"
	Thrift      Language = "Thrift"
)

// byExtension is the closed table of LanguageOf; extensions are in lower case, without the dot.
var byExtension = map[string]Language{
	"asax": ASP, "ascx": ASP, "aspx": ASP, "cshtml": ASP, "razor": ASP, "vbhtml": ASP,
	"asm": Assembly, "s": Assembly,
	"c": C, "h": C,
	"c++": CPlusPlus, "cc": CPlusPlus, "cpp": CPlusPlus, "cppm": CPlusPlus, "cxx": CPlusPlus, "h++": CPlusPlus, "hh": CPlusPlus,
	"hpp": CPlusPlus, "hxx": CPlusPlus, "inl": CPlusPlus, "ino": CPlusPlus, "ipp": CPlusPlus, "ixx": CPlusPlus, "tpp": CPlusPlus,
	"clj": Clojure, "cljc": Clojure, "cljs": Clojure,
	"cbl": COBOL, "cob": COBOL, "cpy": COBOL,
	"cr":  Crystal,
	"css": CSS, "less": CSS, "sass": CSS, "scss": CSS, "styl": CSS,
	"cu": CUDA, "cuh": CUDA,
	"d":          D,
	"dart":       Dart,
	"dockerfile": Dockerfile,
	"eex":        Elixir, "ex": Elixir, "exs": Elixir, "heex": Elixir, "leex": Elixir,
	"elm": Elm,
	"erl": Erlang, "hrl": Erlang,
	"fs": FSharp, "fsi": FSharp, "fsx": FSharp,
	"f": Fortran, "f03": Fortran, "f08": Fortran, "f77": Fortran, "f90": Fortran, "f95": Fortran, "for": Fortran,
	"gql": GraphQL, "graphql": GraphQL, "graphqls": GraphQL,
	"groovy": Groovy,
	"gradle": Gradle,
	"hs":     Haskell, "lhs": Haskell,
	"hcl": HCL, "tf": HCL, "tofu": HCL,
	"htm": HTML, "html": HTML, "xhtml": HTML,
	"jl":  Julia,
	"lua": Lua, "luau": Lua,
	"nim": Nim, "nims": Nim,
	"mk":  Makefile,
	"nix": Nix,
	"m":   ObjectiveC, "mm": ObjectiveC,
	"ml": OCaml, "mli": OCaml,
	"dpr": Pascal, "lpr": Pascal, "pas": Pascal,
	"pl": Perl, "pm": Perl,
	"php": PHP, "phtml": PHP,
	"ps1": PowerShell, "psd1": PowerShell, "psm1": PowerShell,
	"proto": Protobuf,
	"r":     R, "rmd": R,
	"erb": Ruby, "gemspec": Ruby, "haml": Ruby, "jbuilder": Ruby, "rake": Ruby, "rb": Ruby, "ru": Ruby, "slim": Ruby,
	"bash": Shell, "bats": Shell, "fish": Shell, "ksh": Shell, "sh": Shell, "zsh": Shell,
	"sol": Solidity,
	"ddl": SQL, "pgsql": SQL, "plpgsql": SQL, "plsql": SQL, "sql": SQL, "tsql": SQL,
	"bzl": Starlark, "star": Starlark,
	"swift":  Swift,
	"thrift": Thrift,
	"bas":    VisualBasic, "frm": VisualBasic, "vb": VisualBasic, "vbs": VisualBasic,
	"zig": Zig,

	"go": Go,
	"py": Python, "pyi": Python, "pyw": Python, "pyx": Python, "pxd": Python,
	"ts": TypeScript, "tsx": TypeScript, "mts": TypeScript, "cts": TypeScript,
	"js": JavaScript, "jsx": JavaScript, "mjs": JavaScript, "cjs": JavaScript,
	"svelte": Svelte,
	"vue":    Vue,
	"java":   Java,
	"kt":     Kotlin, "kts": Kotlin,
	"scala": Scala, "sc": Scala,
	"cs": CSharp, "csx": CSharp,
	"rs": Rust,
}

// byName is for files that are known by their whole name, in lower case.
var byName = map[string]Language{
	"dockerfile": Dockerfile, "containerfile": Dockerfile,
	"makefile": Makefile, "gnumakefile": Makefile,
	"jenkinsfile": Groovy,
	"gemfile":     Ruby, "rakefile": Ruby, "vagrantfile": Ruby, "podfile": Ruby, "fastfile": Ruby, "guardfile": Ruby, "brewfile": Ruby,
	"build": Starlark, "build.bazel": Starlark, "workspace": Starlark, "workspace.bazel": Starlark, "module.bazel": Starlark,
	"sconstruct": Python, "sconscript": Python, "wscript": Python,
}

// LanguageOf gives the language of a file by its name alone; "" for one that is of no known language. Case does not matter.
func LanguageOf(file string) Language {
	base := strings.ToLower(path.Base(file))
	if language, ok := byName[base]; ok {
		return language
	}
	switch {
	case strings.HasSuffix(base, ".gradle.kts"):
		return Gradle
	case strings.HasSuffix(base, ".blade.php"):
		return PHP
	case strings.HasPrefix(base, "dockerfile."):
		return Dockerfile
	}
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 {
		return ""
	}
	return byExtension[base[dot+1:]]
}

// notCode are the languages that describe (pages, styles, tables, interfaces, machines, builds) rather than program.
var notCode = map[Language]bool{
	CSS: true, Dockerfile: true, Gradle: true, GraphQL: true, HCL: true, HTML: true, Makefile: true, Nix: true, Protobuf: true,
	SQL: true, Starlark: true, Thrift: true,
}

// IsCode tells whether programs are written in the language, so that a folder of its files is source code. It is false for
// "" and for those that describe pages, styles, tables, interfaces, machines or builds.
func IsCode(language Language) bool { return language != "" && !notCode[language] }

// IsExtractable tells whether Extract finds the imports of the language, and a Resolver says what they mean.
func IsExtractable(language Language) bool {
	_, ok := extractors[language]
	return ok
}
