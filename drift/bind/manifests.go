package bind

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/stele-dev/stele/drift/imports"
)

// Bounds of what is read for names.
const (
	maxManifests    = 2000
	maxManifestSize = 256 << 10 // bytes
)

// manifestNames say how the name of a package stands in the file that declares it.
var manifestNames = map[string]*regexp.Regexp{
	"go.mod":         regexp.MustCompile(`(?m)^module\s+\S*?([^/\s]+?)(?:/v\d+)?\s*$`),
	"Cargo.toml":     regexp.MustCompile(`(?ms)^\[package\][^\[]*?^name\s*=\s*"([^"\n]+)"`),
	"pyproject.toml": regexp.MustCompile(`(?ms)^\[(?:project|tool\.poetry)\][^\[]*?^name\s*=\s*["']([^"'\n]+)["']`),
	"mix.exs":        regexp.MustCompile(`(?m)^\s*app:\s*:(\w+)`),
	"setup.py":       regexp.MustCompile(`(?s)\bsetup\(.*?\bname\s*=\s*["']([^"'\n]+)["']`),
	"composer.json":  regexp.MustCompile(`"name"\s*:\s*"(?:[^"/]*/)?([^"]+)"`),
}

var (
	pomParent   = regexp.MustCompile(`(?s)<(parent|dependencies|dependencyManagement|build|profiles|plugins)>.*?</(parent|dependencies|dependencyManagement|build|profiles|plugins)>`)
	pomArtifact = regexp.MustCompile(`<artifactId>\s*([^<\s]+)\s*</artifactId>`)
	pomName     = regexp.MustCompile(`<name>\s*([^<$]+?)\s*</name>`)
	projectFile = regexp.MustCompile(`\.(cs|fs|vb)proj$`)
	composeFile = regexp.MustCompile(`^(docker-)?compose([.-][\w-]+)?\.ya?ml$`)
	heading     = regexp.MustCompile(`(?m)^#\s+(.+?)\s*#*\s*$`)
	titleMarkup = regexp.MustCompile("[*_`]|!?\\[[^\\]]*\\]\\([^)]*\\)|:[a-z_]+:")
)

// units are the files that make a folder something that is built or deployed by itself.
var units = map[string]bool{
	"package.json": true, "go.mod": true, "Cargo.toml": true, "pyproject.toml": true, "pom.xml": true, "build.gradle": true, "build.gradle.kts": true,
	"mix.exs": true, "setup.py": true, "composer.json": true, "Gemfile": true, "Dockerfile": true, "build.sbt": true,
}

// addManifests gives folders the names that manifests, compose files and the titles of readmes say.
func addManifests(in Input, folders map[string]*target, projects [][]string) {
	read := 0
	for _, name := range in.Files {
		inside := relative(in.Root, name)
		base, folder := path.Base(inside), path.Dir(inside)
		t := folders[folder]
		if t != nil && (units[base] || projectFile.MatchString(base)) {
			t.unit = true
		}
		if t != nil && projectFile.MatchString(base) {
			t.add(words(strings.TrimSuffix(base, path.Ext(base))), projects, ownName, byManifest, "its "+base)
			continue
		}
		if in.Read == nil || read >= maxManifests || imports.IsForeign(inside) || t == nil && !composeFile.MatchString(base) {
			continue
		}
		isReadme := strings.EqualFold(base, "readme.md")
		if _, known := manifestNames[base]; !known && base != "package.json" && base != "pom.xml" && !isReadme && !composeFile.MatchString(base) {
			continue
		}
		read++
		text, err := in.Read(name, maxManifestSize)
		if err != nil {
			continue // too large, or not there: it says no name
		}
		switch {
		case composeFile.MatchString(base):
			for service, context := range composeServices(text) {
				if at := folders[path.Join(folder, context)]; at != nil {
					at.add(words(service), projects, ownName, byCompose, "a service of "+inside)
				}
			}
		case isReadme:
			if m := heading.FindSubmatch(text); m != nil {
				t.add(words(titleMarkup.ReplaceAllString(string(m[1]), "")), projects, titleName, byTitle, "the title of its "+base)
			}
		default:
			if declared := declaredName(base, text); declared != "" {
				t.add(words(declared), projects, ownName, byManifest, "the package of its "+base)
			}
		}
	}
}

// declaredName is the name that a manifest gives its package, without an owner or scope before it.
func declaredName(base string, text []byte) string {
	switch base {
	case "package.json":
		var m struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(text, &m) != nil {
			return ""
		}
		return m.Name[strings.LastIndexByte(m.Name, '/')+1:]
	case "pom.xml":
		own := pomParent.ReplaceAllString(string(text), "")
		if m := pomArtifact.FindStringSubmatch(own); m != nil {
			return m[1]
		}
		if m := pomName.FindStringSubmatch(own); m != nil {
			return m[1]
		}
		return ""
	}
	if m := manifestNames[base].FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// composeServices gives, for each service of a compose file that is built from a folder, that folder.
func composeServices(text []byte) map[string]string {
	var file struct {
		Services map[string]struct {
			Build any `yaml:"build"`
		} `yaml:"services"`
	}
	if yaml.Unmarshal(text, &file) != nil {
		return nil
	}
	out := map[string]string{}
	for name, service := range file.Services {
		context, dockerfile := "", ""
		switch build := service.Build.(type) {
		case string:
			context = build
		case map[string]any:
			context, _ = build["context"].(string)
			dockerfile, _ = build["dockerfile"].(string)
		}
		if folder := path.Clean(context); context != "" && folder != "." && !strings.Contains(folder, "$") {
			out[name] = folder
		} else if folder := path.Dir(path.Clean(dockerfile)); dockerfile != "" && folder != "." {
			out[name] = folder // built from the top, by the file in its folder
		}
	}
	return out
}
