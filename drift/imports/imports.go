// Package imports finds what source files import and which files of the repository those imports mean. Finding the
// statements is a pure function of a file's text (Extract), so that its answer can be kept by the hash of the text;
// saying what they mean (Resolver) needs the manifests and the names of the other files of one commit.
package imports

// Version changes whenever Extract may answer differently for the same text. It is part of the key under which facts are
// kept.
const Version = 1

// Language is a programming language by its usual name.
type Language string

// The languages whose imports are extracted and resolved. LanguageOf knows more, by file name alone.
const (
	Go         Language = "Go"
	Python     Language = "Python"
	TypeScript Language = "TypeScript" // with TSX
	JavaScript Language = "JavaScript" // with JSX
	Svelte     Language = "Svelte"
	Vue        Language = "Vue"
	Java       Language = "Java"
	Kotlin     Language = "Kotlin"
	Scala      Language = "Scala"
	CSharp     Language = "C#"
	Rust       Language = "Rust"
)

// Facts are what one file says by itself.
type Facts struct {
	// Packages are the packages or namespaces the file declares (Go: one name; Java, Kotlin: one dotted name; Scala: one dotted
	// name for each package clause, outer before inner, so that nested ones give several; C#: any number of dotted names). Empty
	// where the language has none.
	Packages []string `json:"packages,omitempty"`
	// Types are the names of the top-level types a file declares, where other files import types and not files (Java, Kotlin,
	// Scala, C#).
	Types   []string `json:"types,omitempty"`
	Imports []Import `json:"imports,omitempty"` // in order of lines
}

// Import is one imported thing.
type Import struct {
	Spec string `json:"spec"` // as written: "net/http", "./user", "..models", "com.acme.orders.*", "crate::auth::token"
	// Name is what else the meaning takes. Python: the imported name, which may itself be a module (from Spec import Name). Rust:
	// the file of #[path = "…"] mod, or what as renames to. C#: the namespace that a using stands in.
	Name string `json:"name,omitempty"`
	Line int    `json:"line"` // 1-based
	Kind Kind   `json:"kind,omitempty"`
}

// Kind says what an import does beside importing.
type Kind string

// The kinds. The zero Kind is an ordinary import.
const (
	TypeOnly Kind = "type"     // gone after compilation: TypeScript's import type, Python under TYPE_CHECKING
	Module   Kind = "module"   // Rust's mod x;, which makes the file a part of the crate
	Dynamic  Kind = "dynamic"  // import("./x"), require("./x") within a function
	Reexport Kind = "reexport" // export … from
	Path     Kind = "path"     // a name written with its path in code, without an import: Rust's crate::auth::check()
)

// Tree is one commit as a Resolver sees it.
type Tree interface {
	// Files are the paths of all tracked regular files, sorted, slash-separated.
	Files() []string
	// Read gives a file's text, for manifests. It fails for a file that is too large or not there.
	Read(path string) ([]byte, error)
}

// Verdict says how an import was resolved.
type Verdict string

// The verdicts. Whatever is not known to be outside and matches no file is Unresolved: it is counted, and never evidence.
const (
	Internal   Verdict = "internal"   // files of this repository
	External   Verdict = "external"   // a library or the language's own
	Unresolved Verdict = "unresolved" // neither could be shown
)

// Resolution is what an import means.
type Resolution struct {
	Verdict Verdict
	// Files are the files it means, sorted: one where a language imports files, all files of the package (without tests) where
	// it imports packages. Empty unless Internal.
	Files []string
	// Also are files that lie on the way, or that it may mean too: what a package or a barrel file passes on. They show that a
	// dependency is there, and never that one is missing from a model. Sorted; empty unless Internal.
	Also []string
	// Reason says in words why nothing was found; empty unless Unresolved.
	Reason string
}
