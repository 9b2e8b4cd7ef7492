package facts

import "strings"

// Kinds of negation, comparison and obligation.
const (
	negation  = "not"
	noLonger  = "no longer"
	unless    = "unless"
	anymore   = "anymore" // makes a negation before it "no longer"
	mai       = "mai"     // denies by itself, and only stresses a "non" before it
	insteadOf = "instead of"
	except    = "except"

	atMost    = "at most"
	atLeast   = "at least"
	more      = "more than"
	less      = "less than"
	before    = "before"
	after     = "after"
	until     = "until"
	during    = "during"
	only      = "only"
	exactly   = "exactly"
	always    = "always"
	usually   = "usually"
	sometimes = "sometimes"
	rarely    = "rarely"
	or        = "or"
	about     = "about"
	every     = "all"
	anyOne    = "any"
	some      = "some"
	few       = "few"
	many      = "many"
	most      = "most"
	almost    = "almost"
	even      = "even"
	past      = "was"
	future    = "will"
	maybe     = "if"

	must   = "must"
	should = "should"
	may    = "may"
)

type kind int

const (
	ofNegation kind = iota
	ofComparison
	ofObligation
	ofScope
	ofFilling
)

// phrase is a way to say a negation, comparison, obligation or period.
type phrase struct {
	words   []string
	kind    kind
	meaning string
	number  bool // only before a number
}

// phrases by their first word, longest first.
var phrases = buildPhrases(
	group{ofNegation, negation, false, "not|never|without|neither|nor|none|nobody|nothing|no|fails to|fail to|failed to|" +
		"refuse to|refuses to|refused to|must not|non|senza|nessun|nessuno|nessuna"},
	group{ofNegation, noLonger, false, "no longer|not any longer|not anymore|not any more|non più"},
	group{ofNegation, anymore, false, "anymore|any more|any longer"},
	group{ofNegation, mai, false, "mai"},
	group{ofNegation, unless, false, "unless|except when|except if|except while"},
	group{ofNegation, except, false, "except|except for|except in|except on|but for|excluding|excepting|apart from|aside from|other than|with the exception of|" +
		"save for|all but|any but|every one but|everyone but|everybody but|everything but|anyone but|anybody but|anything but|nothing but"},
	group{ofNegation, insteadOf, false, "instead of|rather than"},
	group{ofComparison, atMost, false, "at most|no more than|not more than|no longer than|not exceed|not exceeding|maximum of|a maximum of|maximum|max|al massimo"},
	group{ofComparison, atMost, true, "up to|limited to|within"},
	group{ofComparison, atLeast, false, "at least|no fewer than|no less than|not less than|minimum of|a minimum of|minimum|min|almeno"},
	group{ofComparison, more, false, "more than|greater than|longer than|larger than|bigger than|higher than|exceeds|exceeding|exceed|più di"},
	group{ofComparison, more, true, "over|above"},
	group{ofComparison, less, false, "less than|fewer than|shorter than|smaller than|lower than|meno di"},
	group{ofComparison, less, true, "under|below"},
	group{ofComparison, before, false, "before|prior to|prima di|ahead of"},
	group{ofComparison, after, false, "after|dopo"},
	group{ofComparison, until, false, "until|till"},
	group{ofComparison, during, false, "while|during"},
	group{ofComparison, only, false, "only|solely|exclusively|solo|soltanto"},
	group{ofComparison, exactly, true, "exactly|precisely"},
	group{ofComparison, about, true, "about|around|roughly|approximately"},
	group{ofComparison, almost, false, "almost|nearly|virtually|practically"},
	group{ofComparison, always, false, "always|sempre"},
	group{ofComparison, usually, false, "usually|often|mostly|typically|frequently|normally|generally"},
	group{ofComparison, sometimes, false, "sometimes|occasionally"},
	group{ofComparison, rarely, false, "rarely|seldom|hardly|hardly ever|barely|scarcely|hardly any|barely any|scarcely any|almost never|almost no|almost none"},
	group{ofComparison, or, false, "or|either"},
	group{ofComparison, every, false, "all|every|each|all of|each of|tutti|tutte|ogni"},
	group{ofComparison, anyOne, false, "any"},
	group{ofComparison, some, false, "some|a few|several"},
	group{ofComparison, few, false, "few|fewer|very few|only a few"},
	group{ofComparison, many, false, "many|lots of|a lot of"},
	group{ofComparison, most, false, "most|the majority of"},
	group{ofComparison, maybe, false, "if|when|whenever|in case|provided|provided that"},
	group{ofComparison, past, false, "was|were|had|wasn't|weren't|hadn't"},
	group{ofComparison, future, false, "will|won't|is going to|are going to"},
	group{ofComparison, even, false, "even if|even when|even though|although|even"},
	group{ofScope, "every second", false, "every second|each second|once a second|once per second"},
	group{ofScope, "every minute", false, "every minute|each minute|once a minute|once per minute"},
	group{ofScope, "hourly", false, "every hour|each hour|once an hour|once per hour|per hour|hourly"},
	group{ofScope, "daily", false, "every night|each night|every day|each day|once a day|once per day|per day|nightly|daily"},
	group{ofScope, "weekly", false, "every week|each week|once a week|once per week|per week|weekly"},
	group{ofScope, "monthly", false, "every month|each month|once a month|once per month|per month|monthly"},
	group{ofFilling, "", false, "note that|keep in mind that|keep in mind|bear in mind that|be aware that|remember that|it is important that|it is important to|" +
		"make sure that|make sure to|make sure|in fact|as a rule|of course"},
	group{ofObligation, must, false, "must|has to|have to|needs to|need to|shall|is required to|are required to|deve|devono"},
	group{ofObligation, should, false, "should|ought to|dovrebbe"},
	group{ofObligation, may, false, "may|might|can|could|is allowed to|are allowed to|is able to|can be|puo|può|possono"},
)

type group struct {
	kind    kind
	meaning string
	number  bool
	texts   string // alternatives separated by |
}

func buildPhrases(groups ...group) map[string][]phrase {
	all := map[string][]phrase{}
	for _, g := range groups {
		for text := range strings.SplitSeq(g.texts, "|") {
			words := strings.Fields(text)
			p := phrase{words, g.kind, g.meaning, g.number}
			list := all[words[0]]
			at := 0
			for at < len(list) && len(list[at].words) >= len(words) {
				at++
			}
			all[words[0]] = append(list[:at], append([]phrase{p}, list[at:]...)...)
		}
	}
	return all
}

// denials are words that deny another: disabled is not enabled. An empty value denies what follows.
var denials = map[string]string{
	"disable": "enable", "disables": "enable", "disabled": "enable", "disabling": "enable",
	"forbid": "allow", "forbids": "allow", "forbidden": "allow", "prohibit": "allow", "prohibits": "allow", "prohibited": "allow",
	"disallow": "allow", "disallows": "allow", "disallowed": "allow", "banned": "allow", "vietato": "", "vietata": "",
	"avoid": "use", "avoids": "use", "avoiding": "use", "avoided": "use", "stop": "stop", "stops": "stop", "stopped": "stop",
	"evitare": "", "evita": "", "lacks": "", "lack": "", "lacking": "",
}

// cjkNegations, the longer before those they contain.
var cjkNegations = []string{
	"禁止", "ありません", "ません", "しない", "できない", "なかった", "ない", "ないで", "せず", "不要", "不能", "不会", "不", "没有", "没", "無い", "无", "未", "勿", "别",
	"금지", "않", "지 마", "지마", "못", "없", "안", "말",
}

var cjkComparators = []struct{ text, meaning string }{
	{"最多", atMost}, {"至多", atMost}, {"以下", atMost}, {"以内", atMost}, {"최대", atMost}, {"이하", atMost},
	{"最少", atLeast}, {"至少", atLeast}, {"以上", atLeast}, {"최소", atLeast}, {"이상", atLeast},
	{"之前", before}, {"以前", before}, {"の前", before}, {"이전", before}, {"之后", after}, {"以后", after}, {"の後", after}, {"이후", after},
	{"只", only}, {"仅", only}, {"だけ", only}, {"のみ", only}, {"만 ", only},
	{"总是", always}, {"必ず", always}, {"항상", always},
}

var cjkOpposites = [][2]string{
	{"删除", "添加"}, {"允许", "禁止"}, {"启用", "禁用"}, {"异步", "同步"}, {"公开", "私有"}, {"客户端", "服务器"}, {"开启", "关闭"}, {"增加", "减少"}, {"读", "写"},
	{"有効", "無効"}, {"非同期", "同期"}, {"許可", "禁止"}, {"追加", "削除"}, {"増", "減"}, {"허용", "금지"}, {"활성", "비활성"}, {"비동기", "동기"}, {"추가", "삭제"},
}

// scopes limit a statement to a place or time; the spellings of one are the same.
var scopes = map[string]string{
	"production": "production", "prod": "production", "staging": "staging", "development": "development", "dev": "development",
	"test": "test", "tests": "test", "testing": "test", "ci": "ci", "local": "local", "locally": "local", "remote": "remote", "remotely": "remote",
	"linux": "linux", "windows": "windows", "macos": "macos", "mac": "macos", "debian": "debian", "ubuntu": "ubuntu", "android": "android", "ios": "ios",
	"monday": "monday", "tuesday": "tuesday", "wednesday": "wednesday", "thursday": "thursday", "friday": "friday", "saturday": "saturday", "sunday": "sunday",
}

// fillers carry no fact.
var fillers = buildSet("also actually basically simply really please currently importantly it's there's already still therefore thus hence so " +
	"however indeed quite lives located il lo la gli le un una di da per con che e è i del della dei al alla nel nella si")

func buildSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// leads are words that begin an adjunct or a subordinate clause, which may stand before or after what it belongs to. Those
// with a meaning of their own must agree; the others stand for one another ("the limit of uploads", "for uploads").
var leads = map[string]string{
	"from": "from", "to": "to", "into": "to", "onto": "to", "over": "over", "above": "over", "under": "under", "below": "under",
	"beneath": "under", "through": "through", "via": "through", "behind": "behind", "against": "against", "between": "between",
	"by": "by", "than": "than", "because": "because", "since": "because", "as": "as", "towards": "to", "toward": "to",
	"in": loose, "on": loose, "at": loose, "for": loose, "of": "of", "with": loose, "within": loose, "inside": loose,
	"across": "across", "beyond": "beyond",
}

// loose are leads without a meaning of their own.
const loose = "in"

// telling are words that a list of stop words has, and that decide what a statement says all the same.
var telling = buildSet("off out up down more most less least few other another same own again further both such against too " +
	"very only just else would once here our your my")

var formsOfBe = buildSet("is are was were be been being gets get got isn't aren't wasn't weren't it's they're")

// participles are irregular ones before "by".
var participles = buildSet("read written sent set held run built made done kept taken given known found seen thrown driven chosen " +
	"hit caught met led put cut sought bound hidden broken shut split chosen begun hung fed lost paid told understood written rewritten overridden")

// subordinators are what begins a clause that may stand before or after the other.
var subordinators = buildSet("before after until during if unless even")

// joinedPrefixes are written with and without a hyphen.
var joinedPrefixes = buildSet("non un re pre anti de co sub multi auto e")

// compounds are words of the field that are written with and without a hyphen.
var compounds = buildSet("startup setup shutdown backup lookup timeout cleanup rollback fallback login logout frontend backend hostname filename " +
	"username timestamp namespace endpoint webhook middleware codebase database datastore runtime workflow checkin checkout dropdown runbook rollout " +
	"failover hotfix upstream downstream plaintext cronjob toolchain metadata dataset daemonset sidecar changelog readonly")

// wordsWithCapitals are names that are spelled with capitals inside, or digits, and are words of the language all the
// same: in another case they mean nothing else.
var wordsWithCapitals = buildSet("postgresql mysql mariadb sqlite mongodb dynamodb couchdb rabbitmq github gitlab bitbucket javascript typescript macos ios ipados " +
	"graphql grpc openapi oauth openid websocket websockets devops linkedin youtube paypal numpy pytorch tensorflow nosql newsql cloudfront cloudwatch " +
	"elasticsearch opensearch clickhouse cockroachdb influxdb jquery nodejs vscode intellij restful iot saas paas iaas k8s i18n l10n o11y a11y opentelemetry " +
	"powershell wordpress mlops gitops finops")

func isWord(lower string) bool { return wordsWithCapitals[lower] }

// opposites by stem; each word is the opposite of those on the other side.
var opposites = buildOpposites(
	"synchronous sync|asynchronous async", "public|private internal", "client|server", "primary leader master|replica follower secondary standby", "first|last",
	"increase raise grow|decrease reduce lower shrink", "enable|disable", "required mandatory|optional", "allow permit accept|deny reject forbid block refuse",
	"read|write", "reader|writer", "acquire lock take|release unlock", "open|close", "start begin|stop end finish", "add append insert create|remove delete drop",
	"input|output", "request|response", "push|pull", "encode|decode", "encrypt|decrypt", "compress|decompress", "serialize|deserialize", "import|export", "upload|download",
	"commit|rollback abort", "success succeed|failure fail", "pass|fail", "true|false", "on|off", "fast|slow", "high|low", "higher|lower", "large|small", "long|short",
	"newest latest new|oldest old", "ascending|descending", "left|right", "top|bottom", "upstream|downstream", "parent|child children", "source|target destination",
	"inbound incoming|outbound outgoing", "producer publisher|consumer subscriber", "producer|consumer", "publish|subscribe", "mutable|immutable", "static|dynamic",
	"eager|lazy", "strict|lenient", "blocking|nonblocking", "safe|unsafe", "valid|invalid", "include|exclude", "inclusive|exclusive", "enter|leave exit", "connect|disconnect",
	"mount|unmount", "subscribe|unsubscribe", "local|remote", "internal|external", "online|offline", "frontend|backend", "head|tail", "min|max", "minimum|maximum",
	"hit|miss", "keep preserve retain|strip drop discard remove", "cached|uncached", "shared|exclusive", "warm|cold", "cheap|expensive", "deprecated|recommended",
	"login|logout", "upgrade|downgrade", "attach|detach", "show|hide", "expand|collapse", "wrap|unwrap", "pin|unpin", "stateless|stateful", "relative|absolute",
	"signed|unsigned", "single|multiple", "singular|plural", "horizontal|vertical", "inner|outer", "temporary|permanent", "manual|automatic", "owner|member", "row|column",
)

func buildOpposites(pairs ...string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	put := func(a, b string) {
		if all[a] == nil {
			all[a] = map[string]bool{}
		}
		all[a][b] = true
	}
	for _, pair := range pairs {
		left, right, _ := strings.Cut(pair, "|")
		for l := range strings.FieldsSeq(left) {
			for r := range strings.FieldsSeq(right) {
				put(canonical(l), canonical(r))
				put(canonical(r), canonical(l))
			}
		}
	}
	return all
}

// prefixes that turn a word into its opposite.
var prefixes = []string{"un", "non", "in", "im", "ir", "dis", "de", "a", "anti", "mis"}

func opposite(a, b string) bool {
	if opposites[a][b] {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	const shortest = 3
	for _, p := range prefixes {
		if len(a) > shortest && b == p+a {
			return true
		}
	}
	return false
}

// synonymGroups are words of the field that may stand for one another in a restatement without changing the fact: they
// mean the same in every sentence that both can stand in.
var synonymGroups = []string{
	"delete remove strip", "use utilise", "fetch retrieve", "contain hold", "return yield", "call invoke", "start begin boot launch", "end finish",
	"need require", "store persist save", "change modify alter", "create make build generate", "show display", "occur happen", "error failure", "new fresh",
	"big large huge", "quick fast", "retry reattempt", "check verify validate", "allow permit let", "reject refuse deny", "ignore skip", "try attempt",
	"quit exit", "send transmit", "limit cap", "execute run", "function func fn", "method meth", "choose pick select", "stay remain", "forward pass", "stop halt",
	"long lengthy", "folder directory dir", "repo repository", "config configuration cfg conf", "database db", "documentation doc docs", "parameter param", "argument arg",
	"authentication authn auth", "authorization authorisation authz", "application app", "environment env", "kubernetes k8s", "context ctx", "service svc",
	"administrator admin", "certificate cert", "development dev", "production prod", "request req", "response resp", "message msg", "password pwd passwd",
	"variable var", "reference ref", "specification spec", "implementation impl", "information info", "dependency dep", "temporary temp tmp", "identifier id",
	"internationalization internationalisation i18n", "localization localisation l10n", "observability o11y", "accessibility a11y",
	"postgresql postgres pg", "javascript js", "typescript ts", "number num",
	"maximum max", "minimum min", "average avg", "image img", "connection conn", "transaction tx txn", "directory dir", "server srv", "namespace ns",
	"everyone everybody", "anyone anybody", "expire lapse", "slow slowly", "licence license",
}

var synonymOf = buildSynonyms()

func buildSynonyms() map[string]string {
	all := map[string]string{}
	for _, words := range synonymGroups {
		first := ""
		for w := range strings.FieldsSeq(words) {
			w = stem(w)
			if first == "" {
				first = w
				if earlier, ok := all[w]; ok {
					first = earlier
				}
			}
			if _, taken := all[w]; !taken {
				all[w] = first
			}
		}
	}
	return all
}

func canonical(word string) string {
	root := stem(word)
	if c, ok := synonymOf[root]; ok {
		return c
	}
	return root
}
