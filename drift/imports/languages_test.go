package imports

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLanguageOf(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Language{
		"a/b.go": Go, "b.PY": Python, "c.pyi": Python, "d.tsx": TypeScript, "e.d.ts": TypeScript, "f.mjs": JavaScript, "g.vue": Vue,
		"h.rs": Rust, "i.cs": CSharp, "j.cshtml": ASP, "k.kt": Kotlin, "build.gradle.kts": Gradle, "build.gradle": Gradle, "l.h": C,
		"m.hpp": CPlusPlus, "Dockerfile": Dockerfile, "Dockerfile.dev": Dockerfile, "Makefile": Makefile, "Rakefile": Ruby,
		"v.blade.php": PHP, "n.tf": HCL, "o.sql": SQL, "README.md": "", "LICENSE": "", "go": "", ".go": Go, "a.go/README": "",
	} {
		if got := LanguageOf(file); got != want {
			t.Errorf("%s is %q, not %q", file, got, want)
		}
	}
	for language, want := range map[Language]bool{Go: true, Ruby: true, Shell: true, HTML: false, SQL: false, Gradle: false, "": false} {
		if IsCode(language) != want {
			t.Errorf("%q is code: %v", language, !want)
		}
	}
	if IsExtractable(Ruby) || !IsExtractable(Python) {
		t.Error("what is extractable")
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	jvmWith := func(more ...Language) []Language {
		out := append(slices.Clone(more), jvm...)
		slices.Sort(out)
		return out
	}
	sorted := func(l []Language) []Language {
		l = slices.Clone(l)
		slices.Sort(l)
		return l
	}
	for technology, want := range map[string][]Language{
		"Spring Boot": jvmWith(), "JavaScript and Spring MVC": jvmWith(JavaScript, Svelte, Vue),
		"React": sorted(web), "React Native": sorted(web), "Node.js 20": sorted(web), "Container: Node": sorted(web),
		"Go": {Go}, "Go, chi": {Go}, "go": {Go}, "Go 1.26 / gRPC": {Go}, "A service in Go": {Go}, "Golang": {Go},
		"Ready to Go": nil, "On the Go": nil, "Go to market": nil, "go live": nil,
		"Django": {Python}, "Python3.11": {Python}, "Python-based": {Python}, "[Container: Python]": {Python},
		".NET 8": sorted(dotNet), "ASP.NET Core": sorted(dotNet), "C#": {ASP, CSharp}, "C# .NET": sorted(dotNet),
		"C": {C}, "C/C++": sorted(cFamily), "C99": {C}, "Vitamin C": nil, "USB-C": nil, "R": {R}, "Cloudflare R2": nil, "R2": nil, "D3": nil, "C4": nil,
		"PL/SQL": {SQL}, "PostgreSQL": nil, "SQL": nil, "MySQL 8": nil, "Oracle Database 12c": nil, "Redis": nil,
		"REST/HTTPS": nil, "gRPC": nil, "Kafka": nil, "Docker Compose": nil, "American Express": nil, "SQL Server Express": nil,
		"Swift": {Swift}, "SWIFT messages": nil, "OpenStack Swift": nil, "Crystal Reports": nil, "HTML, CSS": nil,
		"Rust, Axum": {Rust}, "Ruby on Rails": {Ruby}, "PHP 8, Laravel": {PHP}, "Bash scripts": {Shell}, "": nil, "Java": {Java}, "Java 17": {Java},
	} {
		if diff := cmp.Diff(want, Languages(technology)); diff != "" {
			t.Errorf("%q: %s", technology, diff)
		}
	}
}

func TestIsTest(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]bool{
		"a/order_test.go": true, "a/order.go": false, "a/contest.go": false, "test/e2e/a.go": true, "latest/a.go": false,
		"test_a.py": true, "a_test.py": true, "conftest.py": true, "shop/tests.py": true, "shop/tests/a.py": true, "shop/testing.py": false,
		"a.spec.ts": true, "a.test.tsx": true, "__tests__/a.js": true, "cypress/a.js": true, "spec.ts": false, "inspect.ts": false,
		"src/test/java/com/acme/A.java": true, "src/main/java/com/acme/test/A.java": false, "src/main/java/com/acme/OrderTest.java": true,
		"a/OrderSpec.scala": true, "src/androidTest/kotlin/A.kt": true,
		"Acme.Shop.Tests/A.cs": true, "tests/A.cs": true, "Acme.Shop/OrderTests.cs": true, "Acme.Shop/Contests.cs": false,
		"src/a/tests.rs": true, "tests/a.rs": true, "src/a.rs": false, "spec/a_spec.rb": true, "openapi/spec/a.go": false,
		"tests/OrderTest.php": true, "a_test.exs": true, "a.bats": true, "tests/README.md": true,
	} {
		if got := IsTest(file); got != want {
			t.Errorf("%s is a test: %v", file, got)
		}
	}
}
