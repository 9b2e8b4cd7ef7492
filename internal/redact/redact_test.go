package redact_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/redact"
)

// Made-up characters for tokens. Tokens are put together here, so that scanners of this source find none.
const (
	hex32   = "3f9a1c7e5b2d8046af13c9e07b5d2861"
	alnum36 = "q7Rz2LmX9bTn4VwK8cHd3FyJ6sPgA1eUo5Zi"
	upper16 = "Q7RZ2LMX7BTN4VWK"
)

// secrets must go. Each text has %s where the secret stands; what is around it must stay.
var secrets = []struct{ kind, text, secret string }{
	{"aws", "key %s of the deployer", "AKIA" + upper16},
	{"aws", "AWS_ACCESS_KEY_ID=%s", "ASIA" + upper16},
	{"assignment", "aws_secret_access_key = %s", "wJalr7UtnFEMI/K7MDENG/bPxRfiCY" + "ZyXwVuTs12"},
	{"github", "push with %s", "ghp_" + alnum36},
	{"github", "token: %s.", "ghs_" + alnum36},
	{"github", "(%s)", "gho_" + alnum36},
	{"github", "`%s`", "github_pat_" + "11ABCDEFG0" + alnum36 + "_" + alnum36},
	{"gitlab", "PRIVATE-TOKEN: %s", "glpat-" + "x7Kq-2LmX9bTn4VwK8cH"},
	{"gitlab", "runner %s registered", "glrt-" + "x7Kq_2LmX9bTn4VwK8cH"},
	{"slack", "bot token %s", "xoxb-" + "2012345678-3012345678-" + "q7Rz2LmX9bTn4VwK8cHd3FyJ"},
	{"slack", "app token %s", "xapp-" + "1-A012345678-3012345678-" + hex32},
	{"slack", "post to https://%s on failure", "hooks.slack.com/services/" + "T01234567/B01234567/q7Rz2LmX9bTn4VwK8cHd3FyJ"},
	{"stripe", "charge with %s", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"},
	{"stripe", "restricted %s", "rk_test_" + "4eC39HqLyjWDarjtT1zdp7dc"},
	{"stripe", "webhook secret %s", "whsec_" + alnum36},
	{"google", "maps key %s", "AIza" + "SyA-1234567890abcdefghijklmnopqrstu"},
	{"google", "oauth %s expired", "ya29." + "a0AfH6SMBx-" + alnum36},
	{"google", "client %s", "GOCSPX-" + "x7Kq_2LmX9bTn4VwK8cHd3FyJ6sP"},
	{"api_key", "call with %s", "sk-" + alnum36},
	{"api_key", "call with %s", "sk-proj-" + "x7Kq_2LmX9bTn4-VwK8cHd3FyJ6sP"},
	{"api_key", "call with %s", "sk-ant-api03-" + "x7Kq_2LmX9bTn4-VwK8cHd3FyJ6sP"},
	{"npm", "//registry/:_authToken=%s", "npm_" + alnum36},
	{"pypi", "twine upload -p %s", "pypi-" + "AgEIcHlwaS5vcmc" + alnum36 + alnum36},
	{"docker", "docker login -p %s", "dckr_pat_" + "x7Kq-2LmX9bTn4VwK8cHd3Fy"},
	{"huggingface", "download with %s", "hf_" + alnum36},
	{"sendgrid", "mail by %s", "SG." + "x7Kq2LmX9bTn4VwK8cHd3F." + alnum36 + "AbC1234"},
	{"digitalocean", "droplet by %s", "dop_v1_" + hex32 + hex32},
	{"vault", "vault login %s", "hvs." + "CAESIJ7Kq2LmX9bTn4VwK8cHd3Fy"},
	{"databricks", "notebook by %s", "dapi" + hex32},
	{"shopify", "shop by %s", "shpat_" + hex32},
	{"age", "identity %s", "AGE-SECRET-KEY-1" + strings.ToUpper(alnum36) + upper16 + "QZR3X0"},
	{"grafana", "dashboards by %s", "glsa_" + alnum36 + "_3f9a1c7e"},
	{"jwt", "session %s expired", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.q7Rz2LmX9bTn4VwK8cHd3FyJ"},
	{"private_key", "before\n%s\nafter", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + alnum36 + "\nabc+/=\n-----END RSA PRIVATE KEY-----"},
	{"private_key", "before\n%s\nafter", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"},
	{"private_key", "before\n%s\nafter", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F9A\n\nMIIEow\n-----END RSA PRIVATE KEY-----"},
	{"private_key", "before\n%s\nafter", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----"},
	{"private_key", `"key": "%s"`, `-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n`},
	{"private_key", "cut off: %s", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB" + alnum36},
	{"connection_string", "postgres://app:%s@db.internal:5432/orders?sslmode=require", "s3cr3t"},
	{"connection_string", "DATABASE_URL=postgresql://app:%s@localhost/app", "hunter2"},
	{"connection_string", "redis://:%s@cache:6379/0", "verysecret"},
	{"connection_string", "amqp://guest:%s@rabbit/", "p@ss@word"},
	{"connection_string", "mongodb+srv://app:%s@cluster0.example.net", "Xy12"},
	{"connection_string", "clone https://deploy:%s@git.example.com/a/b.git", "x7Kq2LmX"},
	{"connection_string", "dsn app:%s@tcp(db:3306)/orders", "s3cr3t"},
	{"authorization", "Authorization: Bearer %s", "x7Kq2LmX9bTn4VwK"},
	{"authorization", "curl -H 'Authorization: Basic %s' https://example.com", "YXBwOnMzY3IzdA=="},
	{"authorization", `"authorization": "Bearer %s"`, "x7Kq2LmX9bTn4VwK"},
	{"authorization", "authorization: token %s", "x7Kq2LmX9bTn4VwK"},
	{"authorization", "send Bearer %s with each request", "x7Kq2LmX9bTn4VwK"},
	{"assignment", `api_key = "%s"`, "x7Kq2LmX9bTn4VwK"},
	{"assignment", "API_KEY=%s", "x7Kq2LmX9bTn4VwK"},
	{"assignment", "X-Api-Key: %s", "x7Kq2LmX9bTn4VwK"},
	{"assignment", `{"apiKey": "%s"}`, "x7Kq2LmX9bTn4VwK"},
	{"assignment", "client_secret: %s", "123e4567-e89b-42d3-a456-426614174000"},
	{"assignment", "const accessToken = '%s';", "x7Kq2LmX9bTn4VwK"},
	{"assignment", "secretKey := `%s`", "x7Kq2LmX9bTn4VwK"},
	{"assignment", `config["secret"] = "%s"`, "x7Kq2LmX9bTn4VwK"},
	{"assignment", ":secret_key_base => '%s'", "x7Kq2LmX9bTn4VwK"},
	{"assignment", "PASSWORD: %s", "hunter2"},
	{"assignment", "password: %s", "letmein"},
	{"assignment", "DB_PASSWORD=%s", "letmein"},
	{"assignment", "DB_PASS=%s", "letmein"},
	{"assignment", `password = "%s"`, "correct horse battery staple"},
	{"assignment", "export PGPASSWORD=%s", "letmein"},
	{"assignment", "passwd=%s;host=db", "letmein"},
	{"assignment", "Server=db;User Id=app;Password=%s;", "Pa55!word"},
	{"assignment", "AccountKey=%s", "q7Rz2LmX9bTn4VwK8cHd3FyJ6sPgA1eUo5Zi=="},
	{"assignment", "login --password %s --yes", "x7Kq2LmX9bTn4VwK"},
	{"assignment", "deploy --token=%s", "x7Kq2LmX9bTn4VwK"},
	{"assignment", "<password>%s</password>", "letmein1"},
	{"assignment", "the passphrase is in the note: passphrase: %s", "tr0ub4dor"},
	{"assignment", "session_key: %s", hex32},
	{"assignment", "//registry/:_auth=%s", "YXBwOnMzY3IzdHNlY3JldA=="},
	{"assignment", `os.Setenv("DB_PASSWORD", "x"); url := "db?password=%s&x=1"`, "letmein"},
}

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	for _, c := range secrets {
		text, want := strings.Replace(c.text, "%s", c.secret, 1), strings.Replace(c.text, "%s", redact.Mark, 1)
		if c.kind == "private_key" {
			want = strings.Replace(want, `\n"`, `"`, 1) // an escaped line end after the block goes or stays
		}
		got, found := redact.Redact(text)
		if c.kind == "private_key" {
			got = strings.Replace(got, `\n"`, `"`, 1)
		}
		if got != want {
			t.Errorf("%s: %q became %q, want %q", c.kind, text, got, want)
		}
		if diff := cmp.Diff([]redact.Finding{{Kind: c.kind, Count: 1}}, found); diff != "" {
			t.Errorf("%q: findings differ (-want +got):\n%s", text, diff)
		}
	}
}

// innocent must stay as it is.
var innocent = []string{
	"commit 3f9a1c7e5b2d8046af13c9e07b5d28613f9a1c7e broke the build",
	"fixed in 3f9a1c7",
	"request 123e4567-e89b-42d3-a456-426614174000 failed",
	"see m-7k3f9qa and ws-4f2k9qa",
	`"integrity": "sha512-q7Rz2LmX9bTn4VwK8cHd3FyJ6sPgA1eUo5Ziq7Rz2LmX9bTn4VwK8cHd3FyJ6sPgA1eUo5Zi=="`,
	"golang.org/x/text v0.44.0 h1:q7Rz2LmX9bTn4VwK8cHd3FyJ6sPgA1eUo5ZiAbCdEfg=",
	"image sha256:3f9a1c7e5b2d8046af13c9e07b5d28613f9a1c7e5b2d8046af13c9e07b5d2861",
	"the image id iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ is inlined",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl deploy",
	"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n-----END CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
	"idArgumentResolvers must be set before the first request",
	"the parser is in src/main/java/com/example/auth/TokenAuthenticationFilterFactoryBean.java",
	"call AbstractAuthenticationTokenProviderFactoryBeanV2Impl2 once",
	"password: required",
	"password: string",
	"the password must have 12 characters",
	"password: must have 12 characters",
	"Password: the user's own, never ours",
	"passwords are hashed with argon2id",
	"token: a JWT signed by the gateway",
	"the token is in the cookie",
	"token = nextToken()",
	"token = lexer.next",
	"token := parseToken(input)",
	"let token: Token2 = tokens[0]",
	"secret: true",
	"secretName: database-credentials",
	"secret_name = prod-db-2024-credentials",
	"max_tokens: 150000",
	"maxTokens = 1500",
	"token_limit=1500000a1",
	"tokens: 12345678",
	"token_url: https://auth.example.com/oauth2/token",
	"token_ttl: 3600seconds",
	"password_file: /run/secrets/db_password_1",
	"PASSWORD_FILE=/run/secrets/db1",
	"api_key: ${API_KEY}",
	"api_key = os.environ['API_KEY_1']",
	"apiKey: process.env.API_KEY",
	"password = config.database.password",
	"password: <your password>",
	"password=********",
	"PASSWORD=$DB_PASSWORD",
	"password: {{ db_password }}",
	"api_key: your-api-key-12345",
	"Authorization: Bearer <token>",
	"Authorization: Bearer $TOKEN",
	"the Authorization header is stripped by the gateway",
	"authorization: required for writes",
	"Bearer authentication is the only scheme",
	"the bearer of this token",
	"postgres://localhost:5432/app",
	"postgres://app@localhost/app",
	"http://localhost:8080/path@v2",
	"https://example.com/a:b@c",
	"postgres://app:$PASSWORD@db/app",
	"postgres://app:[redacted]@db/app",
	"git@example.com:owner/repo.git",
	"primary key: order_id2 and customer_id3",
	"cache key = user:1234:profile5678",
	"foreign_key: orders2024_customer_id",
	"sort_key = created_at_2024_01",
	"public_key: AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9ok",
	"sk-learn-pipeline-with-a-long-name",
	"the sk-some-long-css-class-name-here style",
	"class=\"sk-folding-cube-animation-v2-large\"",
	"the npm_config_registry variable",
	"pypi-server is the index",
	"hf_transfer speeds up downloads",
	"key-value store",
	"glpat- is the prefix of tokens",
	"AKIA is the prefix of access keys",
	"tokenizer: cl100k_base12345",
	"the author = s1mpl3name99",
	"secret_rotation: every90days12",
	"keyboard: qwertz12345678",
	"has_password = check1234567(x)",
	"uses the token bucket: 100 tokens, refill 10/s",
	"is_secret: v1alpha1beta2gamma3",
	"ETag: W/\"3f9a1c7e5b2d8046\"",
	"版本 v1.2.3 的密码策略: 12 个字符",
	"🎉 a=b c:d",
	"client.authMechanism = scramSHA256PlusName",
	`const ERRCODE_INVALID_PASSWORD = "28P01"`,
	`cmd.Env = append(os.Environ(), "PWD="+dst, "LANG=C")`,
}

func TestInnocentTextStays(t *testing.T) {
	t.Parallel()
	for _, text := range innocent {
		if got, found := redact.Redact(text); got != text || len(found) > 0 {
			t.Errorf("%q became %q, %v", text, got, found)
		}
	}
}

func TestTablesAreLargeEnough(t *testing.T) {
	t.Parallel()
	if len(secrets) < 60 || len(innocent) < 60 {
		t.Errorf("%d secrets and %d innocent texts, want at least 60 each", len(secrets), len(innocent))
	}
}

func TestFindingsAreCounted(t *testing.T) {
	t.Parallel()
	text := "two: ghp_" + alnum36 + " and ghp_" + alnum36 + ", one: postgres://a:b1@c/d"
	_, found := redact.Redact(text)
	want := []redact.Finding{{Kind: "connection_string", Count: 1}, {Kind: "github", Count: 2}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
}

// Whatever surrounds a token, the token is gone.
func TestSecretsInAnySurroundings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.StringMatching(`[a-z ="':;.,()<>{}\n-]{0,20}`)
		c := rapid.SampledFrom(secrets[:30]).Draw(t, "secret")
		if c.kind == redact.Assignment {
			return // the name beside it makes it a secret
		}
		text := noise.Draw(t, "before") + " " + c.secret + "\n" + noise.Draw(t, "after")
		if got, _ := redact.Redact(text); strings.Contains(got, c.secret) {
			t.Fatalf("%q is still in %q", c.secret, got)
		}
	})
}

func TestStripPrivate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		removed    int
	}{
		{"nothing private", "nothing private", 0},
		{"a <private>b</private> c", "a  c", 1},
		{"<private>all</private>", "", 1},
		{" <PRIVATE>all</Private>\n", "", 1},
		{"a <private>b</private> c <private>d</private>", "a  c ", 2},
		{"a <private>b <private>c</private> d</private> e", "a  e", 1},
		{"a <private>b\nc", "a ", 1},
		{"a <private>b <private>c</private> d", "a ", 1},
		{"a </private> b", "a </private> b", 0},
		{"a <private reason=\"x\">b</private > c", "a  c", 1},
		{"a <privateer> b", "a <privateer> b", 0},
		{"<pri<private>x</private>vate>y", "", 2},
		{strings.Repeat("<pri", 3) + "<private></private>" + strings.Repeat("vate>y</private>", 3), "", 4},
		{"   ", "   ", 0},
	} {
		got, removed := redact.StripPrivate(c.text)
		if got != c.want || removed != c.removed {
			t.Errorf("StripPrivate(%q) = %q, %d; want %q, %d", c.text, got, removed, c.want, c.removed)
		}
	}
}

// Tags that appear when others are taken out are followed some levels deep; below that the rest of the text goes with them.
func TestDeeplyBrokenPrivateTagsPublishNothing(t *testing.T) {
	t.Parallel()
	const levels = 40
	text := "a " + strings.Repeat("<pri", levels) + "<private>x</private>" + strings.Repeat("vate>secret</private>", levels)
	got, _ := redact.StripPrivate(text)
	if strings.Contains(got, "<private>") {
		t.Errorf("a private tag is left in %q", got)
	}
}

func FuzzRedact(f *testing.F) {
	for _, c := range secrets {
		f.Add(strings.Replace(c.text, "%s", c.secret, 1))
	}
	for _, text := range innocent {
		f.Add(text)
	}
	f.Add("password='[redacted] token=\xff-----BEGIN PRIVATE KEY-----")
	f.Fuzz(func(t *testing.T, text string) {
		clean, _ := redact.Redact(text)
		if !utf8.ValidString(clean) {
			t.Errorf("%q became %q, which is not UTF-8", text, clean)
		}
		if again, found := redact.Redact(clean); again != clean || len(found) > 0 {
			t.Errorf("%q became %q, and again %q, %v", text, clean, again, found)
		}
		public, _ := redact.StripPrivate(text)
		if again, removed := redact.StripPrivate(public); again != public || removed > 0 {
			t.Errorf("StripPrivate(%q) = %q, and again %q", text, public, again)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	const megabyte = 1 << 20
	fill := func(piece string) string { return strings.Repeat(piece, megabyte/len(piece)) }
	texts := map[string]string{
		"remember 500 B": strings.Repeat("The gateway strips custom headers longer than 8KB; token: see vault. ", 7),
		"prose":          fill("The gateway strips custom headers longer than 8KB. "),
		"prefixes":       fill("sk-"),
		"names":          fill("token="),
		"quotes":         fill(`password="`),
		"schemes":        fill("a://b:"),
		"begins":         fill("-----BEGIN PRIVATE KEY-----"),
		"begins, ends":   fill("-----BEGIN X-----END "),
		"bearers":        fill("bearer "),
		"headers":        fill("authorization:"),
		"dsn":            fill("a:b@tcp("),
		"colons":         fill(":"),
		"one name":       fill("password"),
	}
	for _, name := range sortedKeys(texts) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(texts[name])))
			for b.Loop() {
				redact.Redact(texts[name])
			}
		})
	}
	b.Run("private tags", func(b *testing.B) {
		text := fill("<pri<private></private>")
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			redact.StripPrivate(text)
		}
	})
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
