package redact

import "strings"

// rule is a token as its issuer writes it: a prefix and so many characters of a set.
type rule struct {
	kind, prefix string
	extra        string // characters allowed beside ASCII letters and digits
	shortest     int    // bytes after the prefix
	random       bool   // must look random too, since words may follow the prefix
}

// rules are from the issuers' documentation, mostly their pages on secret scanning. Lengths are lower bounds: issuers lengthen
// their tokens from time to time.
var rules = []rule{
	{"aws", "AKIA", "", 16, false}, {"aws", "ASIA", "", 16, false}, {"aws", "ABIA", "", 16, false}, {"aws", "ACCA", "", 16, false},
	{"github", "ghp_", "", 30, false}, {"github", "gho_", "", 30, false}, {"github", "ghu_", "", 30, false},
	{"github", "ghs_", "", 30, false}, {"github", "ghr_", "", 30, false}, {"github", "github_pat_", "_", 22, false},
	{"gitlab", "glpat-", "_-.", 20, false}, {"gitlab", "gldt-", "_-.", 20, false}, {"gitlab", "glrt-", "_-.", 20, false},
	{"gitlab", "glcbt-", "_-.", 20, false}, {"gitlab", "glptt-", "_-.", 20, false}, {"gitlab", "glft-", "_-.", 20, false},
	{"gitlab", "glsoat-", "_-.", 20, false}, {"gitlab", "glagent-", "_-.", 20, false}, {"gitlab", "gloas-", "_-.", 20, false},
	{"slack", "xoxb-", "-", 16, true}, {"slack", "xoxp-", "-", 16, true}, {"slack", "xoxa-", "-", 16, true}, {"slack", "xoxe-", "-", 16, true},
	{"slack", "xoxe.", "-.", 16, true}, {"slack", "xoxr-", "-", 16, true}, {"slack", "xoxs-", "-", 16, true}, {"slack", "xoxc-", "-", 16, true},
	{"slack", "xoxd-", "-%/+", 16, true}, {"slack", "xapp-", "-", 16, true}, {"slack", "hooks.slack.com/services/", "/", 30, true},
	{"stripe", "sk_live_", "", 16, false}, {"stripe", "sk_test_", "", 16, false}, {"stripe", "rk_live_", "", 16, false},
	{"stripe", "rk_test_", "", 16, false}, {"stripe", "whsec_", "+/=", 24, false},
	{"google", "AIza", "_-", 35, false}, {"google", "ya29.", "_-.", 20, false}, {"google", "GOCSPX-", "_-", 24, false},
	{"api_key", "sk-", "_-", 20, true}, // OpenAI, Anthropic, OpenRouter and those who follow them
	{"npm", "npm_", "", 36, false}, {"pypi", "pypi-", "_-", 50, false}, {"docker", "dckr_pat_", "_-", 20, false}, {"docker", "dckr_oat_", "_-", 20, false},
	{"huggingface", "hf_", "", 30, false}, {"sendgrid", "SG.", "_-.", 40, true}, {"digitalocean", "dop_v1_", "", 40, false},
	{"digitalocean", "doo_v1_", "", 40, false}, {"digitalocean", "dor_v1_", "", 40, false}, {"vault", "hvs.", "_-", 24, true}, {"vault", "hvb.", "_-", 24, true},
	{"databricks", "dapi", "-", 32, true}, {"shopify", "shpat_", "", 32, false}, {"shopify", "shpca_", "", 32, false}, {"shopify", "shppa_", "", 32, false},
	{"shopify", "shpss_", "", 32, false}, {"linear", "lin_api_", "", 32, false}, {"notion", "ntn_", "", 40, false}, {"atlassian", "ATATT3", "_-=", 40, false},
	{"grafana", "glsa_", "_", 32, true}, {"grafana", "glc_", "+/=", 32, true}, {"newrelic", "NRAK-", "", 27, false}, {"sentry", "sntrys_", "_+/=", 40, false},
	{"planetscale", "pscale_tkn_", "_-.", 32, false}, {"planetscale", "pscale_pw_", "_-.", 32, false}, {"supabase", "sbp_", "", 40, false},
	{"square", "sq0atp-", "_-", 22, false}, {"square", "sq0csp-", "_-", 40, false}, {"mailgun", "key-", "", 32, true},
	{"doppler", "dp.pt.", "", 40, false}, {"doppler", "dp.st.", "_-.", 40, true}, {"age", "AGE-SECRET-KEY-1", "", 50, false}, {"fly", "fm2_", "+/=", 40, true},
	{"groq", "gsk_", "", 40, false}, {"xai", "xai-", "", 40, true}, {"replicate", "r8_", "", 36, false}, {"postman", "PMAK-", "-", 40, true},
	{"stele", "stele_", "", 64, false}, // package memory, newTokenText
	{"jwt", "eyJ", "_-.=", 32, true},
}

// charset tells which bytes belong to a token.
type charset [256]bool

// candidate is a rule ready for matching.
type candidate struct {
	rule
	allowed *charset
}

// byFirst finds the rules by the first byte of their prefix.
var byFirst = func() (table [256][]candidate) {
	for _, r := range rules {
		var allowed charset
		for c := range allowed {
			allowed[c] = isAlnum(byte(c)) || strings.IndexByte(r.extra, byte(c)) >= 0
		}
		table[r.prefix[0]] = append(table[r.prefix[0]], candidate{r, &allowed})
	}
	return table
}()

// maxExamined bounds how much of a token or value is looked at to decide, in bytes, so that text made of beginnings takes
// time in proportion to its length. Every token shows what it is long before.
const maxExamined = 128

// tokens finds tokens by prefix.
func tokens(text string, yield func(secret)) {
	for at := 0; at < len(text); at++ {
		if at > 0 && (isAlnum(text[at-1]) || text[at-1] == '_') {
			continue
		}
		for _, r := range byFirst[text[at]] {
			if !strings.HasPrefix(text[at:], r.prefix) {
				continue
			}
			if end := r.match(text, at); end > 0 {
				yield(secret{at, end, r.kind})
				at = end - 1
				break
			}
		}
	}
}

// match gives the end of the token at start, or 0.
func (r candidate) match(text string, start int) int {
	body := start + len(r.prefix)
	examined := body
	for examined < len(text) && examined-body < maxExamined && r.allowed[text[examined]] {
		examined++
	}
	token := strings.TrimRight(text[body:examined], "-._")
	if len(token) < r.shortest || r.random && !isRandom(token) || r.kind == "jwt" && !strings.Contains(token, ".") {
		return 0
	}
	if r.kind == "aws" && (len(token) != r.shortest || strings.ToUpper(token) != token) {
		return 0
	}
	end := body + len(token)
	for end == examined && end < len(text) && r.allowed[text[end]] {
		end, examined = end+1, examined+1
	}
	return end
}

// isRandom tells a random string from words: digits among its letters, or capitals and small letters mixed beyond what names do.
func isRandom(s string) bool {
	changes, digits := 0, 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			digits++
		}
		if i > 0 && classOf(s[i]) != classOf(s[i-1]) && classOf(s[i]) > 0 && classOf(s[i-1]) > 0 {
			changes++
		}
	}
	const fewest = 3 // changes between small letters, capitals and digits: a name with a version has fewer
	return digits >= 2 && changes >= fewest || changes*4 >= len(s)
}

// classOf is 1 for small letters, 2 for capitals, 3 for digits, 0 for the rest.
func classOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 1
	case c >= 'A' && c <= 'Z':
		return 2
	case c >= '0' && c <= '9':
		return 3
	}
	return 0
}
