package session

import (
	"regexp"
	"strings"

	"github.com/stele-dev/stele/memory/terms"
)

// continueWords are what people say when they want to go on with earlier work, in languages written with spaces: whole words.
var continueWords = regexp.MustCompile(`(?:^|\W)(?:` + strings.Join([]string{
	`continue`, `go on`, `carry on`, `keep going`, `resume`, `pick up where`, `where (?:were|was|did) (?:we|i)`, `left off`, `last time`, `yesterday`, `earlier today`,
	`what (?:did|have) (?:we|i) (?:do|done)`, `previous session`,
	`continua(?:re|mo)?`, `riprend(?:i|ere|iamo)`, `ieri`, `dove eravamo`, `l'ultima volta`, `prosegui(?:re|amo)?`,
}, "|") + `)(?:\W|$)`)

// continueParts are the same where words have no spaces around them.
var continueParts = []string{
	"继续", "繼續", "接着", "接著", "昨天", "上次", "刚才", "剛才", "做到哪",
	"続け", "続き", "昨日", "前回", "さっき", "どこまで", "再開",
	"계속", "이어서", "어제", "지난번", "어디까지",
}

// AsksToContinue tells whether a text asks to go on with earlier work, in English, Italian, Chinese, Japanese or Korean.
func AsksToContinue(text string) bool {
	folded := terms.Fold(text)
	if continueWords.MatchString(folded) {
		return true
	}
	for _, part := range continueParts {
		if strings.Contains(folded, terms.Fold(part)) {
			return true
		}
	}
	return false
}
