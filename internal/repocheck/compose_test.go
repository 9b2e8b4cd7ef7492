package repocheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stele-dev/stele/internal/redact"
)

// compose is what the checks below ask of a compose file; whether the rest of it is valid is the schema's business.
type compose struct {
	Services map[string]service `yaml:"services"`
	Secrets  map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
	Volumes map[string]any `yaml:"volumes"`
}

type service struct {
	Image       string         `yaml:"image"`
	Build       any            `yaml:"build"`
	Restart     string         `yaml:"restart"`
	ReadOnly    bool           `yaml:"read_only"`
	CapDrop     []string       `yaml:"cap_drop"`
	SecurityOpt []string       `yaml:"security_opt"`
	Environment map[string]any `yaml:"environment"`
	Secrets     []string       `yaml:"secrets"`
	Volumes     []string       `yaml:"volumes"`
	Ports       []string       `yaml:"ports"`
	Healthcheck map[string]any `yaml:"healthcheck"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
}

// schemaFaults validates a compose file by the schema of the Compose Specification.
func schemaFaults(schema, text []byte) (complaints []string, err error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	const at = "compose-spec.json"
	if err := compiler.AddResource(at, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(at)
	if err != nil {
		return nil, err
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	if invalid := new(jsonschema.ValidationError); errors.As(compiled.Validate(instance), &invalid) {
		complaints = append(complaints, invalid.Error())
	}
	return complaints, nil
}

var (
	passwordInURL = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@`)
	secretName    = regexp.MustCompile(`(?i)(PASSWORD|PASSWD|TOKEN|SECRET|API_KEY|MASTER_KEY)$`)
)

// keepsData names the services that write to their own file system, a volume aside: the database's image changes owners and
// makes its socket there as root.
var keepsData = []string{"db", "bootstrap"}

// composeFaults complains about what a schema cannot know: images that move, services nobody watches or that may do more
// than they need, secrets and volumes that are declared or used and not both, ports open to the network, passwords in the
// file, and steps waited for in a way that never happens.
func composeFaults(text []byte) (complaints []string, err error) {
	var c compose
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	usedSecrets, usedVolumes := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[name]
		if !pinned(s.Image) && s.Build == nil {
			complain("%s: the image %q names no release", name, s.Image)
		}
		confined := s.ReadOnly && slices.Contains(s.CapDrop, "ALL") && slices.Contains(s.SecurityOpt, "no-new-privileges:true")
		if !confined && !slices.Contains(keepsData, name) {
			complain("%s: is not read_only without capabilities and new privileges", name)
		}
		once := s.Restart == "no"
		if !once && len(s.Healthcheck) == 0 {
			complain("%s: runs on and has no health check", name)
		}
		for _, secret := range s.Secrets {
			usedSecrets[secret] = true
			if _, ok := c.Secrets[secret]; !ok {
				complain("%s: the secret %s is not declared", name, secret)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			usedVolumes[source] = true
			if _, ok := c.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
				complain("%s: the volume %s is not declared", name, source)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				complain("%s: the port %s is open to the network", name, port)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.Environment)) {
			value := fmt.Sprint(s.Environment[key])
			_, found := redact.Redact(key + "=" + value)
			if secretName.MatchString(key) || passwordInURL.MatchString(value) || len(found) > 0 {
				complain("%s: %s holds a secret; give it by file", name, key)
			}
		}
		for _, other := range slices.Sorted(maps.Keys(s.DependsOn)) {
			needed, ok := c.Services[other]
			switch condition := s.DependsOn[other].Condition; {
			case !ok:
				complain("%s: waits for %s, which does not exist", name, other)
			case condition == "service_healthy" && len(needed.Healthcheck) == 0:
				complain("%s: waits for the health of %s, which has no health check", name, other)
			case condition == "service_completed_successfully" && needed.Restart != "no":
				complain("%s: waits for the end of %s, which restarts", name, other)
			}
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(c.Secrets)) {
		if c.Secrets[secret].File == "" {
			complain("the secret %s does not come from a file", secret)
		}
		if !usedSecrets[secret] {
			complain("the secret %s is used by no service", secret)
		}
	}
	for _, volume := range slices.Sorted(maps.Keys(c.Volumes)) {
		if !usedVolumes[volume] {
			complain("the volume %s is used by no service", volume)
		}
	}
	return complaints, nil
}

// pinned tells whether an image is named by digest or by a tag that says which release it holds: one with a number.
func pinned(image string) bool {
	if strings.Contains(image, "@sha256:") {
		return true
	}
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, ok := strings.Cut(name, ":")
	return ok && strings.ContainsAny(tag, "0123456789")
}

// nonroot is the one base image without numbers in its tag: it holds no program, and its tags name a user, not a release.
const nonroot = "gcr.io/distroless/static-debian12:nonroot"

var fromLine = regexp.MustCompile(`(?m)^FROM (\S+)`)

// dockerfileFaults complains about images that move and about a last stage that runs as root.
func dockerfileFaults(text string) (complaints []string) {
	stages := fromLine.FindAllStringSubmatchIndex(text, -1)
	if len(stages) == 0 {
		return []string{"there is no FROM"}
	}
	for _, m := range stages {
		if image := text[m[2]:m[3]]; !pinned(image) && image != nonroot {
			complaints = append(complaints, fmt.Sprintf("the image %q names no release", image))
		}
	}
	last := text[stages[len(stages)-1][0]:]
	if m := regexp.MustCompile(`(?m)^USER (\S+)`).FindStringSubmatch(last); m == nil || m[1] == "root" || m[1] == "0" || strings.HasPrefix(m[1], "0:") {
		complaints = append(complaints, "the last stage runs as root")
	}
	return complaints
}

func TestComposeFileIsValid(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	text, err := fs.ReadFile(tree, "docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := fs.ReadFile(tree, "internal/repocheck/testdata/compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	complaints, err := schemaFaults(schema, text)
	report(t, complaints, err)
	complaints, err = composeFaults(text)
	report(t, complaints, err)

	// Files it mounts are in the repository; secrets and keys are made by docker/make-secrets.sh and never committed.
	for _, m := range regexp.MustCompile(`\./(docker/[\w./-]+)`).FindAllStringSubmatch(string(text), -1) {
		secret := strings.HasPrefix(m[1], "docker/secrets")
		if committed := slices.Contains(files, m[1]); committed == secret {
			t.Errorf("docker-compose.yml names %s; committed: %v, secret: %v", m[1], committed, secret)
		}
	}
	dockerfile, err := fs.ReadFile(tree, "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	report(t, dockerfileFaults(string(dockerfile)), nil)
}

func TestComposeChecksFindFaults(t *testing.T) {
	t.Parallel()
	tree, _ := repository(t)
	schema, err := fs.ReadFile(tree, "internal/repocheck/testdata/compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := schemaFaults(schema, []byte("services:\n  db:\n    image: a:1\n    healthchek: {}\n"))
	expect(t, got, err, "healthchek")
	got, err = schemaFaults(schema, []byte("services:\n  db:\n    image: a:1\n"))
	expect(t, got, err)

	got, err = composeFaults([]byte(`
services:
  app:
    image: example/app
    environment: {APP_PASSWORD: x, APP_PASSWORD_FILE: /run/secrets/a, OTHER: "ghp_0123456789abcdefABCDEF0123456789abcd", URL: "postgres://u:p@db/x", PLAIN: "postgres://u@db/x"}
    secrets: [a, b]
    volumes: ["data:/data", "./here:/here"]
    ports: ["8080:8080", "127.0.0.1:8081:8081"]
    depends_on:
      db: {condition: service_healthy}
      gone: {condition: service_started}
      step: {condition: service_completed_successfully}
  db:
    image: example/db:latest
    healthcheck: {}
    restart: always
  built:
    image: built:local
    build: .
    restart: "no"
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
  half:
    image: example/half:stable
    restart: "no"
    read_only: true
    cap_drop: [NET_RAW]
    security_opt: ["no-new-privileges:true"]
  step:
    image: localhost:5000/step@sha256:0123
    healthcheck: {test: [CMD, "true"]}
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
secrets:
  a: {file: ./a}
  c: {environment: C}
volumes:
  unused:
`))
	expect(t, got, err,
		`app: the image "example/app"`, "app: is not read_only", "app: runs on and has no health check", "app: the secret b is not declared",
		"app: the volume data is not declared", "app: the port 8080:8080", "app: APP_PASSWORD holds", "app: OTHER holds", "app: URL holds",
		"app: waits for the health of db", "app: waits for gone", "app: waits for the end of step",
		`db: the image "example/db:latest"`, "db: runs on and has no health check",
		`half: the image "example/half:stable"`, "half: is not read_only",
		"the secret c does not come from a file", "the secret c is used by no service", "the volume unused is used by no service")

	expect(t, dockerfileFaults("FROM golang:1 AS build\nUSER 1\nFROM scratch\nCOPY a b\n"), nil, `the image "scratch"`, "the last stage runs as root")
	expect(t, dockerfileFaults("FROM example/base:1\nUSER 7:7\n"), nil)
}

var proxied = regexp.MustCompile(`(?m)^\s*server \w+ ([\w-]+):(\d+)\s*$`)

// The proxy sends requests to services that exist and serve, all of them.
func TestProxyKnowsTheServers(t *testing.T) {
	t.Parallel()
	tree, _ := repository(t)
	text, err := fs.ReadFile(tree, "docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var serving []string
	for name, s := range c.Services {
		if addr := fmt.Sprint(s.Environment["STELE_ADDR"]); strings.HasPrefix(addr, "0.0.0.0:") {
			serving = append(serving, strings.Replace(addr, "0.0.0.0", name, 1))
		}
	}
	slices.Sort(serving)
	config, err := fs.ReadFile(tree, "docker/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range proxied.FindAllStringSubmatch(string(config), -1) {
		known = append(known, m[1]+":"+m[2])
	}
	slices.Sort(known)
	if len(serving) != 2 || !slices.Equal(serving, known) {
		t.Errorf("docker-compose.yml serves at %v, docker/haproxy.cfg knows %v", serving, known)
	}
}
