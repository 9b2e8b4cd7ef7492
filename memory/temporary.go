package memory

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordsOf matches expressions as whole words, whatever the case. Go's \b knows ASCII only.
func wordsOf(list ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\p{L}\p{N}_.'’-])(` + strings.Join(list, "|") + `)(?:$|[^\p{L}\p{N}_('’-])`)
}

// passing are words that say of a statement that it holds for a while, in languages written with spaces: English, Italian.
var passing = wordsOf(
	`for now`, `currently`, `right now`, `at the moment`, `for the time being`, `temporary`, `temporarily`, `today`, `tonight`, `tomorrow`,
	`this (?:week|month|quarter|sprint|morning|afternoon|evening)`,
	`(?:until|till) (?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day`,
	`(?:until|till) (?:tomorrow|tonight|next (?:week|month|release|sprint)|the next release|further notice)`, `next (?:week|sprint)`, `work in progress`, `wip`,
	`(?:pr|mr|pull request|merge request) ?[#!]?\d+`,
	`attualmente`, `per ora`, `per adesso`, `al momento`, `oggi`, `stasera`, `domani`, `questa settimana`, `questo mese`, //nolint:misspell // Italian
	`fino a (?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|domani)`,
	`temporaneamente`, `provvisoriamente`,
)

// lastingAfter are words that follow one of those in statements that hold for good: "the currently selected tenant", "a temporary file".
var lastingAfter = map[string]*regexp.Regexp{
	"currently": regexp.MustCompile(`(?i)^(?:selected|active|logged|signed|authenticated|open|opened|focused|running|visible|displayed|loaded|held|playing|executing)\b`),
	"temporary": regexp.MustCompile(`(?i)^(?:files?|tables?|director(?:y|ies)|folders?|credentials?|tokens?|passwords?|variables?|storage|buffers?|objects?|redirects?|` +
		`failures?|errors?|keys?|urls?|links?|names?|paths?|index(?:es)?|copy|copies|views?)\b`),
	"at the moment": regexp.MustCompile(`(?i)^(?:of|when|that|the|a|an|it)\b`),
	"al momento":    regexp.MustCompile(`(?i)^(?:del|della|dello|dell|dei|delle|di|in)\b`), //nolint:misspell // Italian
}

// passingParts are such words of languages written without spaces, or with endings: Chinese, Japanese, Korean. 当前, 現在 and 현재 are not
// among them: they stand in "the current user" as well.
var passingParts = []string{
	"目前", "暂时", "暫時", "眼下", "现阶段", "現階段", "今天", "明天", "本周", "本週", "这周", "這週", "这个星期", "這個星期", "下周", "下週",
	"今のところ", "現時点", "当面", "一時的に", "とりあえず", "今日", "明日", "今週", "今月", "来週", "暫定", "仮対応", "曜日まで",
	"당분간", "지금은", "현재로서는", "임시로", "잠정", "오늘", "내일", "이번 주", "이번주", "다음 주", "요일까지",
}

// untilDay is Chinese for until a day of the week.
var untilDay = regexp.MustCompile(`[到至](?:周|週|星期|礼拜|禮拜)[一二三四五六日天]`)

// onBranch is a statement about a branch that is named: branches end.
var onBranch = regexp.MustCompile("(?i)\\bbranch [`\"']?[\\w.]*[\\w][/-][\\w./-]*[\\w]|[`\"']?\\b[\\w.-]+/[\\w./-]+[`\"']? branch\\b")

// inlineCode is code within prose: a function may well be called today.
var inlineCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// passingWords are what an expression of passing cannot do without, in lower case. Looking for them costs a fraction of the expression, and
// hardly any text has one.
var passingWords = []string{
	"for now", "currently", "right now", "moment", "time being", "tempora", "today", "tonight", "tomorrow", "this week", "this month", "this quarter",
	"this sprint", "this morning", "this afternoon", "this evening", "until ", "till ", "next week", "next sprint", "work in progress", "wip",
	"attualmente", "per ora", "per adesso", "oggi", "stasera", "domani", "questa settimana", "questo mese", "fino a ", "provvisoriamente",
}

// mayPass tells whether it is worth looking for passing in a text, given in lower case.
func mayPass(lower string) bool {
	for _, w := range passingWords {
		if strings.Contains(lower, w) {
			return true
		}
	}
	if strings.ContainsRune(lower, 'ſ') {
		return true // is an s to expressions
	}
	for _, w := range []string{"pr", "mr", "request"} { // with a number
		for rest := lower; ; {
			at := strings.Index(rest, w)
			if at < 0 {
				break
			}
			rest = rest[at+len(w):]
			number := strings.TrimPrefix(rest, " ")
			if number != "" && (number[0] == '#' || number[0] == '!') {
				number = number[1:]
			}
			if number != "" && '0' <= number[0] && number[0] <= '9' {
				return true
			}
		}
	}
	return false
}

// temporary finds the words by which a text says that it holds for a while only; "" when there are none.
func temporary(text string) string {
	lower := strings.ToLower(text)
	if strings.Contains(lower, "branch") {
		if m := onBranch.FindString(text); m != "" {
			return strings.Trim(m, "`\"'")
		}
	}
	if strings.Contains(text, "`") {
		text = inlineCode.ReplaceAllString(text, " ` ")
	}
	for at := 0; at < len(text) && mayPass(lower); {
		m := passing.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		words, rest := text[at+m[2]:at+m[3]], strings.TrimLeftFunc(text[at+m[3]:], unicode.IsSpace)
		if after, ok := lastingAfter[strings.ToLower(words)]; !ok || !after.MatchString(rest) {
			return words
		}
		at += m[3]
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return ""
	}
	for _, part := range passingParts {
		if strings.Contains(text, part) {
			return part
		}
	}
	return untilDay.FindString(text)
}

// maxQuoted bounds what a warning quotes, in characters.
const maxQuoted = 40

// warnTemporary advises a time of expiry where a text looks temporary and has none. What comes from elsewhere or tells of a session was
// not phrased for here.
func (d *draft) warnTemporary(c Caller) {
	if d.expires != nil || d.Imported != nil || d.Kind == SessionOutcome || c.Door == FromImport || c.Door == FromSession {
		return
	}
	if words := temporary(d.Title + "\n" + d.Content); words != "" {
		if utf8.RuneCountInString(words) > maxQuoted {
			words = clip(words, maxQuoted)
		}
		d.warnings = append(d.warnings, fmt.Sprintf("this looks temporary (%q): give expires, such as 2w", words))
	}
}
