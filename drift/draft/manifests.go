package draft

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/drift/imports"
)

// said is what a manifest says of the unit in its folder.
type said struct {
	name, about string
	uses        []string // frameworks, most telling first
	runs        bool     // as a program of its own, not only within others
}

// manifest is a kind of file that makes its folder a unit of the languages it builds.
type manifest struct {
	languages []imports.Language
	read      func(text string) said
}

var (
	web    = []imports.Language{imports.TypeScript, imports.JavaScript, imports.Svelte, imports.Vue}
	jvm    = []imports.Language{imports.Java, imports.Kotlin, imports.Scala, imports.Groovy, imports.Clojure}
	dotNet = []imports.Language{imports.CSharp, imports.FSharp, imports.VisualBasic, imports.ASP}
	python = []imports.Language{imports.Python}
)

var manifests = map[string]manifest{
	"go.mod":           {[]imports.Language{imports.Go}, readGoMod},
	"package.json":     {append(slices.Clone(web), imports.Elm), readPackageJSON},
	"Cargo.toml":       {[]imports.Language{imports.Rust}, readCargo},
	"pom.xml":          {jvm, readPOM},
	"build.gradle":     {jvm, readGradle},
	"build.gradle.kts": {jvm, readGradle},
	"build.sbt":        {jvm, readGradle},
	"pyproject.toml":   {python, readPyProject},
	"setup.py":         {python, readSetup},
	"setup.cfg":        {python, readSetup},
	"manage.py":        {python, func(string) said { return said{uses: []string{"Django"}, runs: true} }},
	"requirements.txt": {python, func(text string) said { return said{uses: pythonFrameworks.in(text)} }},
	"composer.json":    {[]imports.Language{imports.PHP}, readPackageJSON},
	"Gemfile":          {[]imports.Language{imports.Ruby}, func(text string) said { return said{uses: rubyFrameworks.in(text)} }},
	"mix.exs":          {[]imports.Language{imports.Elixir}, func(text string) said { return said{name: submatch(mixApp, text)} }},
	"Package.swift":    {[]imports.Language{imports.Swift}, func(text string) said { return said{name: submatch(namedString, text)} }},
	"pubspec.yaml":     {[]imports.Language{imports.Dart}, func(text string) said { return said{name: submatch(yamlName, text), about: submatch(yamlAbout, text)} }},
}

// manifestOf gives the kind of a manifest by the name of its file.
func manifestOf(file string) (manifest, bool) {
	if m, ok := manifests[path.Base(file)]; ok {
		return m, true
	}
	switch base := path.Base(file); path.Ext(file) {
	case ".csproj", ".fsproj", ".vbproj":
		return manifest{dotNet, func(text string) said { return readDotNet(strings.TrimSuffix(base, path.Ext(base)), text) }}, true
	case ".gemspec":
		return manifest{[]imports.Language{imports.Ruby}, func(string) said { return said{name: strings.TrimSuffix(base, ".gemspec")} }}, true
	}
	return manifest{}, false
}

var (
	goModule    = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)
	goMajor     = regexp.MustCompile(`^v\d+$`)
	mixApp      = regexp.MustCompile(`(?m)^\s*app:\s*:(\w+)`)
	namedString = regexp.MustCompile(`\bname\s*[:=]\s*["']([^"'\n]+)["']`)
	aboutString = regexp.MustCompile(`\bdescription\s*=\s*["']([^"'\n]+)["']`)
	yamlName    = regexp.MustCompile(`(?m)^name:\s*["']?([^"'\n#]+)`)
	yamlAbout   = regexp.MustCompile(`(?m)^description:\s*["']?([^>|"'\n#][^"'\n#]*)`)
	cfgName     = regexp.MustCompile(`(?m)^name\s*=\s*([^"'\n]+)$`)
	cfgAbout    = regexp.MustCompile(`(?m)^(?:summary|description)\s*=\s*([^"'\n]+)$`)
	tomlName    = regexp.MustCompile(`(?m)^\s*name\s*=\s*["']([^"'\n]+)["']`)
	tomlAbout   = regexp.MustCompile(`(?m)^\s*description\s*=\s*(?:"""\s*(?s:(.+?))"""|["']([^"'\n]+)["'])`)
	gradleMain  = regexp.MustCompile(`\bmainClass|\bid\s*\(?\s*['"]application['"]|^\s*application\s*$|spring-boot-gradle|org\.springframework\.boot['"]`)
)

// submatch gives what the groups of an expression matched first; those of alternatives are one.
func submatch(re *regexp.Regexp, text string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(strings.Join(m[1:], ""))
	}
	return ""
}

// frameworks give a technology for a word of a manifest, the most telling first.
type frameworks [][2]string

func (f frameworks) in(text string) []string {
	text = strings.ToLower(text)
	for _, pair := range f {
		if strings.Contains(text, pair[0]) {
			return []string{pair[1]}
		}
	}
	return nil
}

var (
	webFrameworks = frameworks{
		{"next", "Next.js"}, {"nuxt", "Nuxt"}, {"@sveltejs/kit", "SvelteKit"}, {"@angular/core", "Angular"}, {"electron", "Electron"},
		{"react-native", "React Native"}, {"@nestjs/core", "NestJS"}, {"react", "React"}, {"vue", "Vue.js"}, {"svelte", "Svelte"},
		{"solid-js", "Solid"}, {"express", "Express"}, {"fastify", "Fastify"}, {"koa", "Koa"},
	}
	pythonFrameworks = frameworks{{"django", "Django"}, {"fastapi", "FastAPI"}, {"flask", "Flask"}, {"pyramid", "Pyramid"}, {"starlette", "Starlette"}}
	rubyFrameworks   = frameworks{{"'rails'", "Rails"}, {`"rails"`, "Rails"}, {"sinatra", "Sinatra"}}
	jvmFrameworks    = frameworks{
		{"spring-boot", "Spring Boot"}, {"org.springframework.boot", "Spring Boot"}, {"quarkus", "Quarkus"}, {"micronaut", "Micronaut"},
		{"dropwizard", "Dropwizard"}, {"com.android.application", "Android"},
	}
	rustFrameworks = frameworks{{"\naxum", "axum"}, {"\nactix-web", "Actix Web"}, {"\ntauri ", "Tauri"}}
)

// readGoMod names a module by the last element of its path, without a major version.
func readGoMod(text string) said {
	module := submatch(goModule, text)
	if goMajor.MatchString(path.Base(module)) {
		module = path.Dir(module)
	}
	if module == "" || module == "." {
		return said{}
	}
	return said{name: path.Base(module)}
}

// readPackageJSON reads package.json and composer.json. A scope or owner before the name is left out.
func readPackageJSON(text string) said {
	var m struct {
		Name         any            `json:"name"`
		Description  any            `json:"description"`
		Bin          any            `json:"bin"`
		Dependencies map[string]any `json:"dependencies"`
		Peers        map[string]any `json:"peerDependencies"`
	}
	if json.Unmarshal([]byte(text), &m) != nil {
		return said{}
	}
	name, _ := m.Name.(string)
	s := said{name: name[strings.LastIndexByte(name, '/')+1:], runs: m.Bin != nil}
	s.about, _ = m.Description.(string)
	for _, pair := range webFrameworks {
		if m.Dependencies[pair[0]] != nil || m.Peers[pair[0]] != nil {
			s.uses = []string{pair[1]}
			s.runs = s.runs || slices.Contains([]string{"next", "nuxt", "@sveltejs/kit", "electron", "@nestjs/core"}, pair[0]) && m.Dependencies[pair[0]] != nil
			break
		}
	}
	return s
}

// tomlSection gives the lines of a table of a TOML file, up to the next table.
func tomlSection(text, header string) string {
	_, rest, ok := strings.Cut("\n"+text, "\n["+header+"]")
	if !ok {
		return ""
	}
	section, _, _ := strings.Cut(rest, "\n[")
	return section
}

func readCargo(text string) said {
	own := tomlSection(text, "package")
	return said{
		name: submatch(tomlName, own), about: submatch(tomlAbout, own), runs: strings.Contains(text, "\n[[bin]]"),
		uses: rustFrameworks.in("\n" + tomlSection(text, "dependencies")),
	}
}

func readPyProject(text string) said {
	own := tomlSection(text, "project")
	if own == "" {
		own = tomlSection(text, "tool.poetry")
	}
	return said{
		name: submatch(tomlName, own), about: submatch(tomlAbout, own), uses: pythonFrameworks.in(own),
		runs: strings.Contains(text, "[project.scripts]") || strings.Contains(text, "[tool.poetry.scripts]"),
	}
}

func readSetup(text string) said {
	s := said{name: submatch(namedString, text), about: submatch(aboutString, text), runs: strings.Contains(text, "console_scripts")}
	if s.name == "" { // setup.cfg quotes nothing
		s.name, s.about = submatch(cfgName, text), submatch(cfgAbout, text)
	}
	return s
}

// lenient makes a decoder that takes what build tools take: any declared encoding, since names are ASCII as a rule.
func lenient(text string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	return d
}

func readPOM(text string) said {
	var m struct {
		Name        string `xml:"name"`
		ArtifactID  string `xml:"artifactId"`
		Description string `xml:"description"`
	}
	if lenient(text).Decode(&m) != nil {
		return said{}
	}
	s := said{
		name: strings.TrimSpace(m.ArtifactID), about: strings.TrimSpace(m.Description), uses: jvmFrameworks.in(text),
		runs: strings.Contains(text, "mainClass") || strings.Contains(text, "spring-boot-maven-plugin"),
	}
	if name := strings.TrimSpace(m.Name); name != "" && !strings.Contains(name, "$") {
		if i := strings.LastIndex(name, "::"); i >= 0 { // Shop :: Orders
			name = name[i+len("::"):]
		}
		s.name = strings.TrimSpace(name)
	}
	if strings.Contains(s.name, "$") {
		s.name = ""
	}
	return s
}

func readGradle(text string) said {
	return said{uses: jvmFrameworks.in(text), runs: gradleMain.MatchString(text)}
}

// readDotNet reads a project of MSBuild, which is named by its file.
func readDotNet(name, text string) said {
	var m struct {
		SDK    string `xml:"Sdk,attr"`
		Groups []struct {
			Description string `xml:"Description"`
			OutputType  string `xml:"OutputType"`
		} `xml:"PropertyGroup"`
	}
	if lenient(text).Decode(&m) != nil {
		return said{name: name}
	}
	s := said{name: name, runs: strings.HasSuffix(m.SDK, ".Web") || strings.HasSuffix(m.SDK, ".Worker")}
	for _, g := range m.Groups {
		if g.Description != "" && s.about == "" {
			s.about = g.Description
		}
		s.runs = s.runs || strings.Contains(strings.ToLower(g.OutputType), "exe")
	}
	switch {
	case strings.HasSuffix(m.SDK, ".BlazorWebAssembly"):
		s.uses, s.runs = []string{"Blazor"}, true
	case strings.HasSuffix(m.SDK, ".Web"):
		s.uses = []string{"ASP.NET Core"}
	case strings.Contains(text, "<UseMaui>"):
		s.uses = []string{".NET MAUI"}
	}
	return s
}

// technology writes the languages of files and what they are made with: the main language, a second one that holds a
// quarter, and a framework.
func technology(sizes map[imports.Language]int64, uses []string) string {
	var total int64
	for _, n := range sizes {
		total += n
	}
	var out []string
	for i, l := range byWeight(sizes) {
		const quarter = 4
		if i == 0 || i == 1 && quarter*sizes[l] >= total {
			out = append(out, string(l))
		}
	}
	for _, u := range uses {
		out = slices.DeleteFunc(out, func(l string) bool { return strings.HasPrefix(u, l) && l != "C" }) // Vue.js says Vue, too
		out = append(out, u)
	}
	return strings.Join(out, ", ")
}

// byWeight sorts languages by their sizes, largest first.
func byWeight(sizes map[imports.Language]int64) []imports.Language {
	return slices.SortedFunc(maps.Keys(sizes), func(a, b imports.Language) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(string(a), string(b)))
	})
}
