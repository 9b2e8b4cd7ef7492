package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
)

// environment is one with a home and, when text is not empty, a configuration file.
func environment(t *testing.T, text string, variables map[string]string) config.Environment {
	t.Helper()
	dir := t.TempDir()
	e := config.Environment{ConfigDir: filepath.Join(dir, "config"), Variables: variables}
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(e.File()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(e.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	e := environment(t, "# mine\nproject: from-file\norganization: acme\nuser: filed\nlog_level: info\n", map[string]string{
		"STELE_PROJECT": "from-environment", "STELE_USER": "environed", "STELE_ORGANIZATION": "", "STELE_DB_IDLE": "90s",
	})
	e.Flags = map[string]string{"project": "from-flag"}
	c, err := config.Load(e)
	if err != nil {
		t.Fatal(err)
	}
	if c.Project != "from-flag" || c.User != "environed" || c.Organization != "acme" || c.DatabaseIdle != 90*time.Second || c.LogLevel != slog.LevelInfo {
		t.Errorf("got %+v", c)
	}
	sources := map[string]string{}
	for _, v := range c.Values() {
		sources[v.Key] = v.Source
		if v.Help == "" {
			t.Errorf("%s has no help", v.Key)
		}
	}
	want := map[string]string{
		"database_url": "default", "database_owner_url": "default", "database_admin_url": "default", "data_dir": "default", "postgres_bin": "default",
		"db_idle": "environment", "master_key": "default", "master_key_file": "default",
		"organization": "file " + e.File(), "project": "flag --project", "ranking": "default", "user": "environment",
		"server": "default", "token": "default", "insecure": "default", "session": "default",
		"addr": "default", "metrics_addr": "default", "hosts": "default", "proxies": "default", "rate": "default",
		"embedding_provider": "default", "embedding_url": "default", "embedding_model": "default", "embedding_api_key": "default",
		"embedding_dimensions": "default", "embedding_wait": "default", "index_memory": "default", "keep_sessions": "default", "keep_runs": "default", "rewrite_doubt": "default",
		"github_token": "default", "github_api_url": "default", "github_webhook_secret": "default",
		"digest_schedule": "default", "digest_url": "default", "digest_secret": "default", "digest_allow_private": "default",
		"hooks": "default", "hook_observe": "default", "hook_commands": "default", "hook_candidates": "default", "hook_embed": "default",
		"summary_url": "default", "summary_model": "default", "summary_key": "default", "summary_daily_tokens": "default", "guard": "default", "log_level": "file " + e.File(),
	}
	if diff := cmp.Diff(want, sources); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]bool{"log_level": true, "project": true, "user": true, "organization": true, "rate": false, "ranking": false, "nothing": false} {
		if c.IsSet(key) != want {
			t.Errorf("%s is set: %t", key, !want)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	e := environment(t, "", map[string]string{"STELE_MASTER_KEY_FILE": "/mine"})
	e.Defaults = map[string]string{"data_dir": "/srv/data", "master_key_file": "/theirs"}
	if c, err := config.Load(e); err != nil || c.DataDir != "/srv/data" || c.MasterKeyFile != "/mine" || c.Organization != config.DefaultOrganization {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://app:hunter2@db.example/stele", "postgres://app@db.example/stele?password=hunter2",
		"host=db user=app password=hunter2 dbname=stele", "host=db password = 'hunter2 and more'",
	} {
		c, err := config.Load(environment(t, "", map[string]string{
			"STELE_DATABASE_URL": dsn, "STELE_DATABASE_OWNER_URL": dsn, "STELE_MASTER_KEY": "hunter2",
			"STELE_TOKEN": "hunter2", "STELE_SERVER": "https://kim:hunter2@stele.example",
			"STELE_DIGEST_URL": "https://chat.example/hooks/hunter2", "STELE_DIGEST_SECRET": "hunter2",
		}))
		if err != nil {
			t.Fatal(err)
		}
		if c.DatabaseURL != dsn {
			t.Errorf("the value itself was changed: %q", c.DatabaseURL)
		}
		for _, v := range c.Values() {
			if strings.Contains(v.Value, "hunter2") {
				t.Errorf("%s of %q shows the password: %q", v.Key, dsn, v.Value)
			}
			if v.Key == "database_url" && !strings.Contains(v.Value, "db") {
				t.Errorf("%s shows no host: %q", v.Key, v.Value)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file      string
		variables map[string]string
		want      string // in the message
	}{
		"unknown setting":       {file: "project: a\nendpoint: x\n", want: `config.yaml:2: unknown setting "endpoint"`},
		"list":                  {file: "project: [a, b]\n", want: "config.yaml:1: project wants one value"},
		"no mapping":            {file: "- a\n", want: "config.yaml:1: the file does not begin with a key"},
		"broken":                {file: "project: \"a\n", want: "config.yaml:1:"},
		"two documents":         {file: "project: a\n---\nuser: b\n", want: "2 YAML documents"},
		"duration":              {variables: map[string]string{"STELE_DB_IDLE": "soon"}, want: `STELE_DB_IDLE: "soon" is not accepted (from environment); give a duration such as 10m`},
		"yes and no":            {variables: map[string]string{"STELE_INSECURE": "perhaps"}, want: `STELE_INSECURE: "perhaps" is not accepted (from environment); give true or false`},
		"on and off":            {variables: map[string]string{"STELE_HOOKS": "perhaps"}, want: `STELE_HOOKS: "perhaps" is not accepted (from environment); give on or off`},
		"guard":                 {variables: map[string]string{"STELE_GUARD": "deny"}, want: `STELE_GUARD: "deny" is not accepted; use ask, or off`},
		"days":                  {variables: map[string]string{"STELE_KEEP_RUNS": "-3d"}, want: `STELE_KEEP_RUNS: "-3d" is not accepted (from environment); give a number of days such as 180d, or 0 for good`},
		"no end of days":        {variables: map[string]string{"STELE_KEEP_RUNS": "99999d"}, want: `STELE_KEEP_RUNS: "99999d" is not accepted`},
		"a word for days":       {file: "keep_sessions: forever\n", want: `STELE_KEEP_SESSIONS: "forever" is not accepted`},
		"before today":          {variables: map[string]string{"STELE_KEEP_RUNS": "-1h"}, want: `STELE_KEEP_RUNS: "-1h" is not accepted`},
		"kept too short":        {variables: map[string]string{"STELE_KEEP_SESSIONS": "23h"}, want: "STELE_KEEP_SESSIONS: 23h0m0s is too short; give at least 1d"},
		"runs kept too short":   {file: "keep_runs: 1m\n", want: "STELE_KEEP_RUNS: 1m0s is too short"},
		"short idle":            {file: "db_idle: 1ms\n", want: "STELE_DB_IDLE: 1ms is too short"},
		"level":                 {file: "log_level: loud\n", want: "config.yaml); give debug, info, warn or error"},
		"relative folder":       {variables: map[string]string{"STELE_DATA_DIR": "data"}, want: "not an absolute path"},
		"named file is missing": {variables: map[string]string{"STELE_CONFIG": "/nowhere/stele.yaml"}, want: "/nowhere/stele.yaml: the configuration file cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(environment(t, tc.file, tc.variables))
			if !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if p, ok := problem.As(err); ok && len(p.Fixes) == 0 {
				t.Errorf("no fix in %v", err)
			}
		})
	}
}

// A server that the file names can be left aside, and its token stays out of every message.
func TestServer(t *testing.T) {
	t.Parallel()
	e := environment(t, "server: https://stele.example\ntoken: hunter2\ninsecure: true\n", nil)
	c, err := config.Load(e)
	if err != nil || c.Server != "https://stele.example" || c.Token != "hunter2" || !c.Insecure {
		t.Errorf("got %+v, %v", c, err)
	}
	e.Flags = map[string]string{"server": "LOCAL"}
	if c, err = config.Load(e); err != nil || c.Server != "" {
		t.Errorf("got %q, %v", c.Server, err)
	}
	// A repository says neither.
	for _, line := range []string{"server: https://elsewhere.example\n", "token: x\n", "insecure: true\n"} {
		if _, err := config.ParseRepository("stele.yaml", []byte(line)); !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), "user configuration file") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// How long something is kept is told in days, or as any duration; 0 is for good.
func TestPeriod(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{"": 180 * day, "0": 0, "0d": 0, "1d": day, "36500d": 36500 * day, "48h": 2 * day} {
		c, err := config.Load(environment(t, "", map[string]string{"STELE_KEEP_RUNS": text}))
		if err != nil || time.Duration(c.KeepRuns) != want || time.Duration(c.KeepSessions) != 180*day {
			t.Errorf("%q: %s and %s, %v", text, time.Duration(c.KeepRuns), time.Duration(c.KeepSessions), err)
		}
	}
}

// A switch is written in any usual way.
func TestSwitch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Switch{"on": true, "YES": true, "1": true, "true": true, "off": false, "no": false, "0": false, "False": false} {
		c, err := config.Load(environment(t, "", map[string]string{"STELE_HOOKS": text}))
		if err != nil || c.Hooks != want || c.HookObserve || !c.HookCandidates {
			t.Errorf("%q: %t, %v", text, c.Hooks, err)
		}
	}
	c, err := config.Load(environment(t, "hooks: off\nhook_observe: true\n", nil))
	if err != nil || c.Hooks || !c.HookObserve {
		t.Errorf("in a file: %t %t, %v", c.Hooks, c.HookObserve, err)
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	e := environment(t, "", map[string]string{"STELE_PROJEKT": "x", "STELE_PROJECT": "y", "STELE_CONFIG": "a", "STELE_EMPTY": "", "PATH": "z"})
	if diff := cmp.Diff([]string{"STELE_PROJEKT"}, e.Unknown()); diff != "" {
		t.Error(diff)
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	got, err := config.ParseRepository("stele.yaml", []byte(`
project: 0190aaaa-0000-7000-8000-000000000001
model: docs/workspace.dsl
bindings:
  shop.api: api/**
  shop.web: [web/**, "assets/*.css"]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Repository{Project: uuid.MustParse("0190aaaa-0000-7000-8000-000000000001"), Model: "docs/workspace.dsl",
		Bindings: map[string][]string{"shop.api": {"api/**"}, "shop.web": {"web/**", "assets/*.css"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	root := t.TempDir()
	if _, found, err := config.ReadRepository(root); found || err != nil {
		t.Errorf("an absent file: %v, %v", found, err)
	}
	// What a hostile repository may carry instead.
	file, secret := filepath.Join(root, config.RepositoryFile), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func() error{
		"a link to a device":            func() error { return os.Symlink(os.DevNull, file) },
		"a link out of the repository":  func() error { return os.Symlink(secret, file) },
		"a folder":                      func() error { return os.Mkdir(file, 0o700) },
		"more than ids and globs taken": func() error { return os.WriteFile(file, make([]byte, 1<<20), 0o600) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, found, err := config.ReadRepository(root); found || !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRepositoryRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"project: shop\n":                   `stele.yaml: project: "shop" is not a project id`,
		"model: a.dsl\nserver: http://x\n":  "stele.yaml:2:",
		"model: a.dsl\nmaster_key: x\n":     "user configuration file",
		"model: ../../etc/passwd\n":         "leads out of the repository",
		"model: /etc/passwd\n":              "leads out of the repository",
		"bindings:\n  a: \"[\"\n":           `bindings: a: "[" is not a glob`,
		"bindings:\n  a:\n    b: c\n":       "stele.yaml:",
		"bindings: nothing\n":               "stele.yaml:1",
		"project: [\n":                      "stele.yaml:",
		"model: a\nmodel: b\n":              "stele.yaml:2",
		"model: [a]\n":                      "stele.yaml:1: the value has another form than is wanted",
		"model: a\n---\nmodel: b\n":         "stele.yaml:2: the file holds several YAML documents",
		strings.Repeat("[", 4000) + "\n":    "stele.yaml:1: lists within lists",
		strings.Repeat("- ", 4000) + "a\n":  "stele.yaml:1: lists within lists",
		strings.Repeat("a:\n", 6000):        "stele.yaml:5001: there are more than 5000 entries",
		"a: &a [*a]\n":                      "stele.yaml:1: & begins an anchor or an alias",
		"bindings:\n  a:\n  - *.go\n":       `stele.yaml:3: * begins an anchor or an alias, which are not read; put a glob in quotes, such as "*.go"`,
		"\xff\xfe\x00":                      "stele.yaml",
		"project: 0190aaaa-0000-7000-8000 ": "is not a project id",
	} {
		_, err := config.ParseRepository("stele.yaml", []byte(text))
		if !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

func TestRepositoryDrift(t *testing.T) {
	t.Parallel()
	r, err := config.ParseRepository("stele.yaml", []byte(`
none:
  shop.mail: a hosted service
ignore: [examples/**, tools]
waivers:
  - fingerprint: 3f2a91c4
    reason: moved next quarter
    expires: 2027-01-31
`))
	want := config.Repository{
		None: map[string]string{"shop.mail": "a hosted service"}, Ignore: []string{"examples/**", "tools"},
		Waivers: []config.Waiver{{Fingerprint: "3f2a91c4", Reason: "moved next quarter", Expires: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)}},
	}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	for text, says := range map[string]string{
		"none:\n  shop.mail: ''\n":                                             "no reason",
		"none:\n  shop.mail: hosted\nbindings:\n  shop.mail: mail/**\n":        "also under bindings",
		"ignore: ['[']\n":                                                      "not a glob",
		"waivers:\n  - reason: x\n    expires: 2027-01-31\n":                   "no fingerprint",
		"waivers:\n  - fingerprint: x\n    expires: 2027-01-31\n":              "no reason",
		"waivers:\n  - fingerprint: x\n    reason: y\n":                        "not a day",
		"waivers:\n  - fingerprint: x\n    reason: y\n    expires: tomorrow\n": "not a day",
	} {
		if _, err := config.ParseRepository("stele.yaml", []byte(text)); !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v, want %q", text, err, says)
		}
	}
}

func FuzzParseRepository(f *testing.F) {
	f.Add([]byte("project: 0190aaaa-0000-7000-8000-000000000001\nmodel: a.dsl\nbindings: {a: [b/**]}\n"))
	f.Add([]byte("bindings:\n  a: \"[\"\n"))
	f.Add([]byte("? a\n: - b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := config.ParseRepository("stele.yaml", text)
		if err != nil {
			if _, ok := problem.As(err); !ok {
				t.Errorf("not a problem: %v", err)
			}
			return
		}
		if r.Model != "" && !filepath.IsLocal(r.Model) {
			t.Errorf("accepted model %q", r.Model)
		}
	})
}
