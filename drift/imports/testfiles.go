package imports

import (
	"path"
	"slices"
	"strings"
)

// testFolders hold tests in every language, whatever the case of their names.
var testFolders = map[string]bool{
	"test": true, "tests": true, "__tests__": true, "__mocks__": true, "e2e": true, "e2e-tests": true, "integration-tests": true,
	"integration_tests": true, "unit_tests": true, "unit-tests": true, "testutil": true, "testutils": true,
}

// A convention is how one language's community names its tests.
type convention struct {
	prefixes, suffixes []string // of the name without extension
	names              []string // the whole name without extension
	folders            []string // further folders, in lower case
	folderSuffixes     []string // of folders: Acme.Shop.Tests
}

var (
	underscored = convention{prefixes: []string{"test_"}, suffixes: []string{"_test", "_tests", "_unittest"}}
	camelCased  = convention{suffixes: []string{"Test", "Tests", "TestCase"}}
	javaScript  = convention{
		suffixes: []string{".test", ".spec", ".cy", ".e2e", ".e2e-spec", "-test", "-spec", ".test-d", ".spec-d"},
		folders:  []string{"spec", "cypress"},
	}
	jvmTests = convention{
		suffixes: []string{"Test", "Tests", "TestCase", "IT", "ITCase", "Spec", "Specs", "Suite"},
		folders:  []string{"androidtest", "integrationtest", "functionaltest", "testfixtures", "jvmtest", "commontest"},
	}
	dotNetTests = convention{
		suffixes:       []string{"Test", "Tests", "Specs"},
		folderSuffixes: []string{".Test", ".Tests", "UnitTests", "IntegrationTests", "FunctionalTests", "AcceptanceTests", ".Specs", "Tests"},
	}
)

// conventions is the closed table of IsTest. A language that is not in it has the test folders only.
var conventions = map[Language]convention{
	Go:         {suffixes: []string{"_test"}},
	Python:     {prefixes: []string{"test_"}, suffixes: []string{"_test", "_tests"}, names: []string{"conftest", "tests"}},
	TypeScript: javaScript, JavaScript: javaScript, Svelte: javaScript, Vue: javaScript,
	Java: jvmTests, Kotlin: jvmTests, Scala: jvmTests, Groovy: jvmTests,
	CSharp: dotNetTests, FSharp: dotNetTests, VisualBasic: dotNetTests, ASP: dotNetTests,
	Rust:   {names: []string{"tests", "test"}, suffixes: []string{"_test", "_tests"}},
	Ruby:   {prefixes: []string{"test_"}, suffixes: []string{"_test", "_spec"}, folders: []string{"spec"}},
	PHP:    camelCased,
	Swift:  {suffixes: []string{"Test", "Tests"}, folderSuffixes: []string{"Tests"}},
	Elixir: underscored, Dart: underscored, C: underscored, CPlusPlus: underscored, Lua: underscored, Clojure: underscored,
}

// IsTest tells whether a file is a test or serves tests only, by the conventions of its language: a folder named tests,
// or a name such as order_test.go, test_order.py, order.spec.ts, OrderTests.cs. Below src/main, folders say nothing, since
// there they are names of packages.
func IsTest(file string) bool {
	language := LanguageOf(file)
	convention := conventions[language]
	folders, base := path.Split(file)
	name := strings.TrimSuffix(base, path.Ext(base))
	switch {
	case language == Shell && path.Ext(base) == ".bats",
		slices.Contains(convention.names, name),
		slices.ContainsFunc(convention.prefixes, func(p string) bool { return strings.HasPrefix(name, p) }),
		slices.ContainsFunc(convention.suffixes, func(s string) bool { return strings.HasSuffix(name, s) && name != s }):
		return true
	}
	if main := strings.Index("/"+folders, "/src/main/"); main >= 0 {
		folders = folders[:main]
	}
	for folder := range strings.SplitSeq(strings.Trim(folders, "/"), "/") {
		lower := strings.ToLower(folder)
		if testFolders[lower] || slices.Contains(convention.folders, lower) ||
			slices.ContainsFunc(convention.folderSuffixes, func(s string) bool { return strings.HasSuffix(folder, s) }) {
			return true
		}
	}
	return false
}
