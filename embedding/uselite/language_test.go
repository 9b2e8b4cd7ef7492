package uselite

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// embeds tells whether the shipped model gives a text a vector.
func embeds(t *testing.T, p *Provider, text string) bool {
	t.Helper()
	vs, err := p.Embed(t.Context(), []string{text})
	if err != nil || len(vs) != 1 {
		t.Fatalf("%q: %d vectors, %v", text, len(vs), err)
	}
	return vs[0] != nil
}

// gated judges texts without encoding them: the tests of the gate need many, and the race detector makes vectors dear.
func gated(t *testing.T) func(text string) bool {
	t.Helper()
	e, err := New(Options{}).load()
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) bool { return tokenize(e, text) == nil }
}

func TestOtherLanguagesAreRefused(t *testing.T) {
	t.Parallel()
	refused := gated(t)
	for language, texts := range map[string][]string{
		"Chinese": {
			"支付服务在三次重试之后把消息写入死信队列", "限流", "使用 PostgreSQL 的 row-level security 隔离租户", "修复 com.example.payment.RetryPolicy 的空指针",
			"網關會移除超過 8 KB 的標頭",
		},
		"Japanese": {
			"決済サービスは失敗した請求を三回まで再試行する", "レート制限", "APIキーは環境変数から読み込む", "Redis のキャッシュは 30 分で失効します",
		},
		"Korean": {
			"결제 서비스는 실패한 요청을 세 번 재시도한다", "속도 제한", "Kubernetes 클러스터에서 ingress 설정", "issue 401: OAuthTokenRefreshInterceptor 로그인 실패",
		},
		"Russian":    {"Платёжный сервис повторяет неудачные запросы три раза", "ограничение частоты запросов", "Почему GatewayTimeout возникает при большом количестве заголовков"},
		"Greek":      {"Η υπηρεσία πληρωμών επαναλαμβάνει τις αποτυχημένες χρεώσεις"},
		"Arabic":     {"تعيد خدمة الدفع المحاولة ثلاث مرات", "حد المعدل في API gateway"},
		"Hebrew":     {"שירות התשלומים מנסה שוב שלוש פעמים"},
		"Hindi":      {"भुगतान सेवा तीन बार पुनः प्रयास करती है"},
		"Thai":       {"บริการชำระเงินลองใหม่สามครั้ง"},
		"Vietnamese": {"Dịch vụ thanh toán thử lại ba lần rồi ghi vào hàng đợi", "Giới hạn tốc độ yêu cầu", "Tăng giới hạn"},
		"Italian": {
			"Il middleware di autenticazione scarta gli header più lunghi di 8 KB",
			"Il servizio dei pagamenti ritenta tre volte gli addebiti falliti",
			"L'importazione notturna parte alle due e blocca la tabella degli ordini",
			"Non usare float per gli importi: gli arrotondamenti sono già costati una fattura",
			"Abbiamo scelto PostgreSQL al posto di MongoDB perché le fatture richiedono transazioni",
			"Le sessioni vivono in Redis con TTL di 30 minuti",
			"limiti di richieste nel gateway",
			"Dove viene validato il token JWT?",
			"IL SERVER DELLE CODE NON RIPARTE DA SOLO",
			"La cache dell'API scade dopo un'ora",
		},
		"German": {
			"Der Zahlungsdienst wiederholt fehlgeschlagene Buchungen dreimal",
			"Die API-Schlüssel werden beim Start aus der Umgebung gelesen",
			"Keine Sitzung ohne Ablaufzeit in Redis speichern",
			"Warum ist der Build auf dem Server langsam?",
			"Das Gateway verwirft Header über 8 KB",
		},
		"French": {
			"Le service de paiement réessaie trois fois les prélèvements échoués",
			"L’authentification passe par le middleware avant d’atteindre le contrôleur",
			"Ne jamais appeler le grand livre depuis le panier",
			"Où sont validés les jetons JWT ?",
			"L’authentification n’expire jamais",
			"Télémétrie activée, métriques agrégées, résumé détaillé généré",
		},
		"Spanish": {
			"El servicio de pagos reintenta tres veces los cobros fallidos",
			"La puerta de enlace descarta las cabeceras de más de 8 KB",
			"Las sesiones viven en Redis durante treinta minutos",
			"¿Dónde se valida el token JWT?",
		},
		"Portuguese": {
			"O serviço de pagamentos tenta três vezes as cobranças que falharam",
			"As sessões ficam no Redis por trinta minutos e depois expiram",
			"Nunca chamar o razão a partir do carrinho de compras",
		},
		"Dutch":      {"De betaaldienst probeert mislukte boekingen drie keer opnieuw", "Het wachtwoord wordt niet in het logbestand geschreven"},
		"Polish":     {"Usługa płatności ponawia nieudane obciążenia trzy razy", "Nie zapisuj haseł w logach, jeśli nie jest to konieczne"},
		"Turkish":    {"Ödeme servisi başarısız işlemleri üç kez yeniden dener"},
		"Indonesian": {"Layanan pembayaran mencoba ulang tiga kali dan menulis ke antrean"},
		"Swedish":    {"Betaltjänsten försöker tre gånger och skriver sedan till kön"},
		"Finnish":    {"Palvelin lukee asetukset tiedostosta ennen tietokannan avaamista", strings.Repeat("Palvelin lukee asetukset tiedostosta ennen tietokannan avaamista. ", 10), "Maksupalvelu yrittää epäonnistuneita veloituksia uudelleen kolme kertaa"},
		"Czech":      {"Platební služba opakuje neúspěšné platby třikrát, potom je zapíše"},
	} {
		for _, text := range texts {
			if !refused(text) {
				t.Errorf("%s got a vector: %s", language, text)
			}
		}
	}
}

func TestEnglishIsEmbedded(t *testing.T) {
	t.Parallel()
	refused := gated(t)
	for _, text := range []string{
		// Queries and titles: too short to tell.
		"rate limiting", "cache", "throttle", "JWT", "auth flow", "retry policy", "k8s", "flaky test", "OOMKilled", "naïve Bayes café", "café", "chi router", "non idempotent retries",
		"Rate Limiter Design", "DI container", "SQL", "DO NOT DEPLOY ON FRIDAY", "résumé upload", "per client per second",
		// Notes of developers.
		"The gateway strips custom headers longer than 8KB",
		"Retry failed charges three times with exponential backoff, then publish a dead letter event",
		"Payment retries capped three times, exponential backoff, dead letter queue, billing alerts",
		"Use snake_case for column names in every migration",
		"Never call the ledger from the checkout service",
		"We chose PostgreSQL over MongoDB because invoices need transactions",
		"gRPC DEADLINE_EXCEEDED comes from the mesh, not from the service",
		"Sessions live in Redis for 30 minutes; see internal/session/store.go",
		"Bump golang.org/x/net from 0.33.0 to 0.34.0",
		"pre-commit hook reformats auto-generated files, re-run codegen afterwards",
		"de-duplicate events on message_id",
		"Kubernetes liveness probe misconfigured: restarts during migrations",
		"supports configurable aggregation temporality",
		"real-time monitoring dashboards, alerting thresholds, incident runbooks",
		// Identifiers, paths, code.
		"OrderProcessor.handleRetry calls PaymentGatewayClient.charge and LedgerWriter.append",
		"cmd/stele/main.go wires memory.Service, postgres.Store, mcp.Server",
		"parseConfig() panics when cfg.yaml is empty: nil pointer in loader.go:42",
		"SELECT id, org_id FROM memories WHERE superseded_by IS NULL ORDER BY created_at DESC",
		"for i, e := range entries { if e.IsDir() { continue } }",
		"kubectl -n payments rollout restart deployment/api --timeout=90s",
		"STELE_DATABASE_URL=postgres://localhost/stele stele serve --listen :8080",
		"ERROR: duplicate key value violates unique constraint \"orders_pkey\" (SQLSTATE 23505)",
		"handlers/auth_middleware.py handlers/rate_limit.py handlers/session_store.py",
		"com.example.billing.InvoiceService com.example.billing.InvoiceRepository",
		"`Il servizio dei pagamenti` is the label on the invoice page",
		"x, y := b[:n], b[n:]; e, err := f(y)",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		// English with a word of another language in it.
		"The label 保存 in SettingsPage is hard-coded and needs a translation key",
		"The 한국어 locale breaks the date parser when the month has one digit",
		"The Große Freiheit test fixture needs an umlaut in the street name",
		"Latency is measured in µs, and λ is the arrival rate of the queue",
		"The de facto owner of the El Niño forecast is the La Plata team, and en is the locale of the data",
		"k = α",
		"El is the prefix of all element plus components in the web client",
	} {
		if refused(text) {
			t.Errorf("was refused: %s", text)
		}
	}
}

func TestTextsWithoutWordsAreRefused(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	for _, text := range []string{"", " ", "!!!", "--- *** ---", "\xff\xfe", "🚀🎉", "\u0301", strings.Repeat(".", 1<<20)} {
		if embeds(t, p, text) {
			t.Errorf("%.20q got a vector", text)
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The gateway strips  custom headers (>8KB).": "the gateway strips custom headers 8kb",
		"snake_case, kebab-case & CamelCase":         "snake case kebab case camelcase",
		"doesn't":                                    "doesn t",
		"cmd/stele/main.go:42":                       "cmd stele main go 42",
		"ＦＵＬＬ width, ﬁle, x²":                        "full width file x2",
		"Cafe\u0301 \u00c9T\u00c9":                   "café été",
		"q\u0307uery":                                "query",
		"\n\tA\u00a0B\u2003C \x00D ":                 "a b c d",
		"a\xffb":                                     "a b",
		"№ 5, Ⅷ":                                     "no 5 viii",
		"İstanbul":                                   "istanbul",
		"日本語 テキスト":                                   "日本語 テキスト",
		"...":                                        "",
	} {
		if got := normalize(text); got != want {
			t.Errorf("%q became %q, expected %q", text, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"short", strings.Repeat("a", maxText), strings.Repeat("a", maxText+1), strings.Repeat("é", maxText), "x" + strings.Repeat("한", maxText), strings.Repeat("\x80", 2*maxText)} {
		got := clip(text)
		if len(got) > maxText || len(got) < min(len(text), maxText-utf8.UTFMax) || !strings.HasPrefix(text, got) || utf8.ValidString(text) != utf8.ValidString(got) {
			t.Errorf("%d bytes beginning with %.5q became %d bytes", len(text), text, len(got))
		}
	}
}

// FuzzTokenize gives arbitrary texts to all that happens before encoding.
func FuzzTokenize(f *testing.F) {
	e, err := New(Options{}).load()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "rate limiting", "L'utente d'", "'", "``", "a`b`c`", "한국어", "\xff'\xfe", "É-é", "non-", "-", "''''", "ǅ ΑΒ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal := normalize(clip(text))
		if !utf8.ValidString(normal) || strings.Contains(normal, "  ") || strings.TrimSpace(normal) != normal {
			t.Fatalf("%q became %q", text, normal)
		}
		if tokens := tokenize(e, text); tokens != nil && normal == "" {
			t.Fatalf("%q has no word and %d tokens", text, len(tokens))
		}
	})
}
