package repocheck

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// releases is what is checked of .goreleaser.yaml.
type releases struct {
	Version int `yaml:"version"`
	Before  struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds []struct {
		ID      string   `yaml:"id"`
		Main    string   `yaml:"main"`
		Env     []string `yaml:"env"`
		Ldflags []string `yaml:"ldflags"`
		Goos    []string `yaml:"goos"`
		Goarch  []string `yaml:"goarch"`
	} `yaml:"builds"`
	Archives []struct {
		Files []any `yaml:"files"`
	} `yaml:"archives"`
	Checksum struct {
		Name string `yaml:"name_template"`
	} `yaml:"checksum"`
	SBOMs []struct {
		Artifacts string `yaml:"artifacts"`
	} `yaml:"sboms"`
	Images []struct {
		Dockerfile string   `yaml:"dockerfile"`
		Images     []string `yaml:"images"`
		Extra      []string `yaml:"extra_files"`
	} `yaml:"dockers_v2"`
	Release struct {
		Draft bool `yaml:"draft"`
	} `yaml:"release"`
}

// A release holds what docs/releasing.md says, and every file that its configuration names is there.
func TestReleaseConfiguration(t *testing.T) {
	t.Parallel()
	tree, _ := repository(t)
	text, err := fs.ReadFile(tree, ".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var r releases
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Version != 2 || len(r.Builds) != 1 || len(r.Archives) == 0 || r.Checksum.Name == "" || len(r.SBOMs) == 0 || len(r.Images) == 0 || !r.Release.Draft {
		t.Fatalf("something is missing: %+v", r)
	}
	b := r.Builds[0]
	if !slices.Contains(b.Env, "CGO_ENABLED=0") || !strings.Contains(strings.Join(b.Ldflags, " "), "-X main.version=") || len(b.Goos) < 3 || len(b.Goarch) < 2 {
		t.Errorf("the build is not the documented one: %+v", b)
	}
	named := []string{strings.TrimPrefix(b.Main, "./"), r.Images[0].Dockerfile}
	named = append(named, r.Images[0].Extra...)
	for _, h := range r.Before.Hooks {
		named = append(named, strings.TrimPrefix(strings.Fields(h)[0], "./"))
	}
	for _, f := range r.Archives[0].Files {
		if name, ok := f.(string); ok {
			named = append(named, name)
		}
	}
	for _, name := range named {
		if _, err := fs.Stat(tree, name); err != nil {
			t.Errorf("%s is not there", name)
		}
	}
}

// serverName is how the registry of MCP servers wants names.
var serverName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// unreleased stands in server.json where the version of a release goes.
const unreleased = "0.0.0"

// server.json is what the registry of MCP servers takes: its rules for names and lengths, the image that a release pushes, the label by
// which that image is known, and only variables that the program reads.
func TestRegistryOfMCPServers(t *testing.T) {
	t.Parallel()
	tree, _ := repository(t)
	text, err := fs.ReadFile(tree, "server.json")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Schema      string `json:"$schema"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Version     string `json:"version"`
		Repository  struct {
			URL    string `json:"url"`
			Source string `json:"source"`
		} `json:"repository"`
		Packages []struct {
			RegistryType string `json:"registryType"`
			Identifier   string `json:"identifier"`
			Transport    struct {
				Type string `json:"type"`
			} `json:"transport"`
			Arguments []struct {
				Type  string `json:"type"`
				Value string `json:"value"`
			} `json:"packageArguments"`
			Variables []struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				IsRequired  bool   `json:"isRequired"`
				IsSecret    bool   `json:"isSecret"`
				Format      string `json:"format"`
			} `json:"environmentVariables"`
		} `json:"packages"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if !serverName.MatchString(s.Name) || s.Description == "" || len(s.Description) > 100 || s.Version != unreleased || !strings.HasPrefix(s.Schema, "https://static.modelcontextprotocol.io/schemas/") {
		t.Errorf("not as the registry wants it: %+v", s)
	}
	if len(s.Packages) != 1 || s.Packages[0].RegistryType != "oci" || s.Packages[0].Transport.Type != "stdio" || s.Packages[0].Arguments[0].Value != "mcp" {
		t.Fatalf("not one image over stdio: %+v", s.Packages)
	}
	config, err := fs.ReadFile(tree, ".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var r releases
	if err := yaml.Unmarshal(config, &r); err != nil {
		t.Fatal(err)
	}
	if image := s.Packages[0].Identifier; image != r.Images[0].Images[0]+":"+unreleased {
		t.Errorf("%s is not the image that a release pushes: %v", image, r.Images[0].Images)
	}
	dockerfile, err := fs.ReadFile(tree, r.Images[0].Dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(dockerfile), `LABEL io.modelcontextprotocol.server.name="`+s.Name+`"`) {
		t.Errorf("the image does not say that it is %s", s.Name)
	}
	settings, err := fs.ReadFile(tree, "internal/config/config.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Packages[0].Variables {
		if key, ok := strings.CutPrefix(v.Name, "STELE_"); !ok || !strings.Contains(string(settings), `env:"`+key+`"`) {
			t.Errorf("the program does not read %s", v.Name)
		}
		if v.IsSecret != strings.HasSuffix(v.Name, "TOKEN") {
			t.Errorf("%s: secret %v", v.Name, v.IsSecret)
		}
	}
}
