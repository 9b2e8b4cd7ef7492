// Package config reads what an operator may set: STELE_* variables and a user configuration file, with flags above both
// and defaults below. It remembers where each value came from, so that `stele config` can say so.
//
// It also reads stele.yaml, the file a repository may carry (see Repository). The two never mix: a repository names ids
// and globs, an operator names endpoints and keys, so that a cloned repository cannot redirect either.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/stele-dev/stele/internal/problem"
)

// Prefix starts every variable.
const Prefix = "STELE_"

// Config is the effective configuration. Each field's env tag, behind Prefix, is its variable; in lower case it is its key
// in the configuration file.
type Config struct {
	DatabaseURL         string        `env:"DATABASE_URL" help:"PostgreSQL to serve from, as stele_app; empty: the embedded one" mask:"url"`
	DatabaseOwnerURL    string        `env:"DATABASE_OWNER_URL" help:"the same database as stele_owner, for migrations" mask:"url"`
	DatabaseAdminURL    string        `env:"DATABASE_ADMIN_URL" help:"an administrator of that server; stele db migrate then makes roles and database" mask:"url"`
	DataDir             string        `env:"DATA_DIR" help:"folder of the embedded database and its backups"`
	PostgresBin         string        `env:"POSTGRES_BIN" help:"folder of the PostgreSQL programs; empty: the usual places"`
	DatabaseIdle        time.Duration `env:"DB_IDLE" help:"the embedded database stops after so long without a client"`
	MasterKey           string        `env:"MASTER_KEY" help:"the key that locks every other key" mask:"all"`
	MasterKeyFile       string        `env:"MASTER_KEY_FILE" help:"file of that key, made when missing"`
	Server              string        `env:"SERVER" help:"Stele server that commands go to; empty or local: the database of this machine" mask:"url"`
	Token               string        `env:"TOKEN" help:"who a server takes the commands for" mask:"all"`
	Insecure            bool          `env:"INSECURE" help:"allow plain http to a server on another machine"`
	Organization        string        `env:"ORGANIZATION" help:"tenant to work in, made when missing"`
	Project             string        `env:"PROJECT" help:"project to work in: id, name or identity; empty: by repository"`
	Session             string        `env:"SESSION" help:"work session that the commands belong to"`
	User                string        `env:"USER" help:"who writes; empty: git's user.name, else the user of the machine"`
	Ranking             string        `env:"RANKING" help:"constants of recall to change, such as best_share=0.3,kind.pitfall=4"`
	Addr                string        `env:"ADDR" help:"address that stele serve listens on"`
	MetricsAddr         string        `env:"METRICS_ADDR" help:"address that answers Prometheus without a token, such as 127.0.0.1:9420; empty: none"`
	Hosts               string        `env:"HOSTS" help:"names of the server beside localhost, separated by commas"`
	Proxies             string        `env:"PROXIES" help:"networks of proxies whose X-Forwarded-For is believed, separated by commas"`
	Rate                float64       `env:"RATE" help:"requests a second that one token may send to the server"`
	EmbeddingProvider   string        `env:"EMBEDDING_PROVIDER" help:"encoder of meaning: builtin, openai (any compatible endpoint), ollama or none"`
	EmbeddingURL        string        `env:"EMBEDDING_URL" help:"address of the encoder's API; empty: the provider's own"`
	EmbeddingModel      string        `env:"EMBEDDING_MODEL" help:"model of openai or ollama"`
	EmbeddingAPIKey     string        `env:"EMBEDDING_API_KEY" help:"key of the encoder's API" mask:"all"`
	EmbeddingDimensions int           `env:"EMBEDDING_DIMENSIONS" help:"numbers in a vector, where the model lets one choose; 0: its own"`
	EmbeddingWait       time.Duration `env:"EMBEDDING_WAIT" help:"how long a write or a recall waits for a vector"`
	IndexMemory         int           `env:"INDEX_MEMORY" help:"megabytes in which the server holds the projects that are asked most; 0: none"`
	KeepSessions        Period        `env:"KEEP_SESSIONS" help:"how long work sessions are kept when they are over; 0: for good"`
	KeepRuns            Period        `env:"KEEP_RUNS" help:"how long runs of drift are kept; 0: for good"`
	RewriteDoubt        int           `env:"REWRITE_DOUBT" help:"percent of its lines gone from which a memory is doubted; 0: never"`
	GitHubToken         string        `env:"GITHUB_TOKEN" help:"lets the server see at GitHub whether a branch has a commit" mask:"all"`
	GitHubAPI           string        `env:"GITHUB_API_URL" help:"GitHub's API; empty: that of github.com"`
	GitHubWebhookSecret string        `env:"GITHUB_WEBHOOK_SECRET" help:"secret shared with GitHub's webhooks; empty: none are taken" mask:"all"`
	DigestSchedule      string        `env:"DIGEST_SCHEDULE" help:"when the server sends digests of the projects: five cron fields, UTC; empty: never"`
	DigestURL           string        `env:"DIGEST_URL" help:"webhook that digests are posted to" mask:"all"`
	DigestSecret        string        `env:"DIGEST_SECRET" help:"secret that digests are signed with; empty: unsigned" mask:"all"`
	DigestAllowPrivate  bool          `env:"DIGEST_ALLOW_PRIVATE" help:"allow a webhook inside the network, and plain http to it"`
	Hooks               Switch        `env:"HOOKS" help:"off: the hooks of agents' clients do nothing"`
	HookObserve         Switch        `env:"HOOK_OBSERVE" help:"on: hooks log what they would put before a model, and put nothing"`
	HookCommands        Switch        `env:"HOOK_COMMANDS" help:"on: what hooks say names commands, for a client without the MCP tools"`
	HookCandidates      Switch        `env:"HOOK_CANDIDATES" help:"off: hooks propose no sentences of a conversation as memories"`
	HookEmbed           Switch        `env:"HOOK_EMBED" help:"on: prompts of people may go to an encoder outside of this process"`
	SummaryURL          string        `env:"SUMMARY_URL" help:"chat API, as of OpenAI or Ollama, that is asked what a conversation came to; empty: none is"`
	SummaryModel        string        `env:"SUMMARY_MODEL" help:"model that is asked"`
	SummaryKey          string        `env:"SUMMARY_KEY" help:"key of that API" mask:"all"`
	SummaryDailyTokens  int           `env:"SUMMARY_DAILY_TOKENS" help:"tokens that summaries of this machine may cost a day; 0: none"`
	Guard               string        `env:"GUARD" help:"ask: a hook has the client ask before an edit where another session works alone"`
	LogLevel            slog.Level    `env:"LOG_LEVEL" help:"least level written to standard error: debug, info, warn or error; a server that is not told: info"`

	values []Value
}

// Value is one setting as `stele config` shows it.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // masked when it is a secret
	Source string `json:"source"`
	Help   string `json:"help"`
}

// Sources of a value, as Value.Source shows them; a file's is "file PATH" and a flag's "flag --NAME".
const (
	FromDefault     = "default"
	FromEnvironment = "environment"
)

// Environment is where a configuration is read from. The zero value of a field means nothing is set there.
type Environment struct {
	Variables map[string]string // the process environment
	ConfigDir string            // the user's configuration folder (XDG_CONFIG_HOME or its equivalent)
	Defaults  map[string]string // configuration key → value, for defaults that other packages decide
	Flags     map[string]string // configuration key → value, for flags that were given
}

// Process is the environment of this process.
func Process() Environment {
	// Without a home there is no user configuration file, which is no error.
	dir, _ := os.UserConfigDir()
	return Environment{Variables: env.ToMap(os.Environ()), ConfigDir: dir}
}

// File is the path of the user configuration file: STELE_CONFIG, else stele/config.yaml in the configuration folder; "" when
// there is no such folder.
func (e Environment) File() string {
	if path := e.Variables[Prefix+"CONFIG"]; path != "" {
		return path
	}
	if e.ConfigDir == "" {
		return ""
	}
	return filepath.Join(e.ConfigDir, "stele", "config.yaml")
}

// Load reads the configuration. Errors are problems that name the variable, or the file and line.
func Load(e Environment) (Config, error) {
	fields := settings()
	merged, source := map[string]string{}, map[string]string{}
	set := func(key, value, from string) {
		if value != "" {
			merged[Prefix+strings.ToUpper(key)], source[key] = value, from
		}
	}
	for key, value := range defaults(e) {
		set(key, value, FromDefault)
	}
	path := e.File()
	inFile, err := readFile(path, fields, e.Variables[Prefix+"CONFIG"] != "")
	if err != nil {
		return Config{}, err
	}
	for key, value := range inFile {
		set(key, value, "file "+path)
	}
	for key := range fields {
		set(key, e.Variables[Prefix+strings.ToUpper(key)], FromEnvironment)
	}
	for key, value := range e.Flags {
		set(key, value, "flag --"+strings.ReplaceAll(key, "_", "-"))
	}

	var c Config
	// Each value is parsed by itself, so that an error can say where it was set.
	for key, field := range fields {
		name := Prefix + strings.ToUpper(key)
		one := map[string]string{name: merged[name]}
		if err := env.ParseWithOptions(&c, env.Options{Prefix: Prefix, Environment: one}); err != nil {
			return Config{}, problem.Invalidf(name, "%q is not accepted (from %s)", masked(merged[name], field.mask), source[key]).
				Fix("give %s", expected[field.kind]).Because(err)
		}
		c.values = append(c.values, Value{Key: key, Value: masked(merged[name], field.mask), Source: source[key], Help: field.help})
	}
	if err := env.ParseWithOptions(&c, env.Options{Prefix: Prefix, Environment: merged}); err != nil {
		return Config{}, problem.Invalidf("", "configuration: %v", err).Because(err)
	}
	slices.SortFunc(c.values, func(a, b Value) int { return fields[a.Key].order - fields[b.Key].order })
	for n := range c.values {
		if c.values[n].Source == "" {
			c.values[n].Source = FromDefault
		}
	}
	if strings.EqualFold(c.Server, NoServer) {
		c.Server = ""
	}
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// NoServer stands for no server, where one that is set below (a flag is above a variable, a variable above the file) is to
// be left aside.
const NoServer = "local"

// Values gives every setting with its source, secrets masked, in the order of Config's fields.
func (c Config) Values() []Value { return slices.Clone(c.values) }

// IsSet tells whether somebody set a value, named by its key, rather than leaving it at its default.
func (c Config) IsSet(key string) bool {
	return slices.ContainsFunc(c.values, func(v Value) bool { return v.Key == key && v.Source != FromDefault })
}

func (c Config) check() error {
	if c.DataDir != "" && !filepath.IsAbs(c.DataDir) {
		return problem.Invalidf(Prefix+"DATA_DIR", "%q is not an absolute path, so it would mean another folder in every place", c.DataDir).
			Fix("write it from the root")
	}
	if c.DatabaseIdle < time.Second {
		return problem.Invalidf(Prefix+"DB_IDLE", "%s is too short", c.DatabaseIdle).Fix("give at least 1s, such as 10m")
	}
	if c.Rate < 0.1 || c.Rate > 1e6 {
		return problem.Invalidf(Prefix+"RATE", "%g is not between 0.1 and 1000000", c.Rate).Fix("unset it for 50")
	}
	if c.IndexMemory < 0 || c.IndexMemory > 1<<20 {
		return problem.Invalidf(Prefix+"INDEX_MEMORY", "%d is not between 0 and %d megabytes", c.IndexMemory, 1<<20).Fix("unset it for 128")
	}
	if err := c.KeepSessions.check("KEEP_SESSIONS"); err != nil {
		return err
	}
	if err := c.KeepRuns.check("KEEP_RUNS"); err != nil {
		return err
	}
	if c.EmbeddingWait < time.Millisecond || c.EmbeddingWait > time.Minute {
		return problem.Invalidf(Prefix+"EMBEDDING_WAIT", "%s is not between 1ms and 1m", c.EmbeddingWait).Fix("unset it for 250ms")
	}
	if c.SummaryDailyTokens < 0 {
		return problem.Invalidf(Prefix+"SUMMARY_DAILY_TOKENS", "%d is negative", c.SummaryDailyTokens).Fix("unset it for 50000, or give 0 for none")
	}
	if c.Guard != "" && c.Guard != GuardAsk && c.Guard != "off" {
		return problem.Invalidf(Prefix+"GUARD", "%q is not accepted", c.Guard).Fix("use ask, or off")
	}
	if strings.TrimSpace(c.Organization) == "" {
		return problem.Invalidf(Prefix+"ORGANIZATION", "the name is empty").Fix("unset it to use %q", DefaultOrganization)
	}
	return nil
}

// Unknown lists variables that begin with Prefix and mean nothing here, for `stele config` and `stele doctor` to point at.
func (e Environment) Unknown() []string {
	fields := settings()
	var out []string
	for name, value := range e.Variables {
		key, ours := strings.CutPrefix(name, Prefix)
		if _, known := fields[strings.ToLower(key)]; ours && value != "" && !known && key != "CONFIG" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// GuardAsk is the value of Guard that has people asked.
const GuardAsk = "ask"

// Switch is a setting that is on or off.
type Switch bool

// UnmarshalText reads on, off and what else people write for them.
func (s *Switch) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "on", "true", "yes", "1":
		*s = true
	case "off", "false", "no", "0":
		*s = false
	default:
		return errors.New("neither on nor off")
	}
	return nil
}

// Period is how long something is kept; 0 stands for good.
type Period time.Duration

// leastKept is the shortest Period: what ended a moment ago may go on.
const leastKept = Period(day)

const (
	day      = 24 * time.Hour
	mostDays = 36500 // a hundred years; a Duration holds 292
)

// UnmarshalText reads days, such as 180d, or a duration.
func (p *Period) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > mostDays {
			return errors.New("no number of days")
		}
		*p = Period(time.Duration(n) * day)
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return errors.New("no duration")
	}
	*p = Period(d)
	return nil
}

func (p Period) check(name string) error {
	if p != 0 && p < leastKept {
		return problem.Invalidf(Prefix+name, "%s is too short", time.Duration(p)).Fix("give at least 1d, such as 180d, or 0 for good")
	}
	return nil
}

// DefaultOrganization is the tenant of someone who never thought about tenants.
const DefaultOrganization = "default"

// defaultIdle is long enough to outlive the pauses of a working session, short enough that a laptop is left alone.
const defaultIdle = 10 * time.Minute

func defaults(e Environment) map[string]string {
	d := map[string]string{
		"organization":         DefaultOrganization,
		"db_idle":              defaultIdle.String(),
		"insecure":             "false",
		"addr":                 "127.0.0.1:7420",
		"rate":                 "50",
		"embedding_provider":   "builtin",
		"index_memory":         "128",
		"keep_sessions":        "180d",
		"keep_runs":            "180d",
		"embedding_dimensions": "0",
		"embedding_wait":       "250ms",
		"digest_allow_private": "false",
		"hooks":                "on",
		"hook_observe":         "off",
		"hook_commands":        "off",
		"hook_candidates":      "on",
		"hook_embed":           "off",
		"summary_daily_tokens": "50000",
		"log_level":            slog.LevelWarn.String(),
	}
	maps.Copy(d, e.Defaults)
	return d
}

type setting struct {
	order      int
	kind       reflect.Type
	help, mask string
}

// expected says in words what a kind of value looks like.
var expected = map[reflect.Type]string{
	reflect.TypeFor[time.Duration](): "a duration such as 10m",
	reflect.TypeFor[Period]():        "a number of days such as 180d, or 0 for good",
	reflect.TypeFor[slog.Level]():    "debug, info, warn or error",
	reflect.TypeFor[bool]():          "true or false",
	reflect.TypeFor[Switch]():        "on or off",
	reflect.TypeFor[string]():        "text",
	reflect.TypeFor[float64]():       "a number such as 50",
	reflect.TypeFor[int]():           "a whole number",
}

func settings() map[string]setting {
	out := map[string]setting{}
	t := reflect.TypeFor[Config]()
	for n := range t.NumField() {
		f := t.Field(n)
		if tag := f.Tag.Get("env"); tag != "" {
			out[strings.ToLower(tag)] = setting{order: n, kind: f.Type, help: f.Tag.Get("help"), mask: f.Tag.Get("mask")}
		}
	}
	return out
}

// readFile gives the settings of the configuration file. A missing file is empty unless someone named it.
func readFile(path string, fields map[string]setting, named bool) (map[string]string, error) {
	out := map[string]string{}
	if path == "" {
		return out, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return out, nil
	}
	if err != nil {
		return nil, problem.Invalidf(path, "the configuration file cannot be read: %v", errors.Unwrap(err)).
			Fix("make it readable or unset %sCONFIG", Prefix).Because(err)
	}
	entries, err := yamlEntries(path, text)
	if err != nil {
		return nil, err
	}
	known := slices.Sorted(maps.Keys(fields))
	for _, entry := range entries {
		key, at := entry.Key.GetToken().Value, fmt.Sprintf("%s:%d", path, entry.Key.GetToken().Position.Line)
		if _, ok := fields[key]; !ok {
			return nil, problem.Invalidf(at, "unknown setting %q", key).Fix("use one of %s", strings.Join(known, ", "))
		}
		switch v := entry.Value.(type) {
		case *ast.NullNode:
		case *ast.LiteralNode:
			out[key] = strings.TrimSpace(v.Value.Value)
		case ast.ScalarNode:
			out[key] = fmt.Sprint(v.GetValue())
		default:
			return nil, problem.Invalidf(at, "%s wants one value, not a list or a mapping", key).Fix("write %s: value", key)
		}
	}
	return out, nil
}

// yamlEntries parses text whose top is a mapping, or that holds nothing.
func yamlEntries(path string, text []byte) ([]*ast.MappingValueNode, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, yamlProblem(path, err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil
	}
	if len(file.Docs) > 1 {
		return nil, problem.Invalidf(path, "the file holds %d YAML documents", len(file.Docs)).Fix("keep one")
	}
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		return body.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{body}, nil
	case *ast.NullNode, *ast.CommentGroupNode:
		return nil, nil
	default:
		return nil, problem.Invalidf(fmt.Sprintf("%s:%d", path, body.GetToken().Position.Line), "the file does not begin with a key").
			Fix("write lines of the form key: value")
	}
}

// keyValueDSN finds the password of a libpq connection string.
var keyValueDSN = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)`)

const hidden = "********"

func masked(value, mask string) string {
	switch {
	case value == "" || mask == "":
		return value
	case mask == "url":
		u, err := url.Parse(value)
		if err != nil || u.Scheme == "" {
			return keyValueDSN.ReplaceAllString(value, "${1}"+hidden)
		}
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), hidden)
		}
		if q := u.Query(); q.Has("password") {
			q.Set("password", hidden)
			u.RawQuery = q.Encode()
		}
		return strings.ReplaceAll(u.String(), url.QueryEscape(hidden), hidden)
	}
	return hidden
}
