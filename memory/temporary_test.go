package memory

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemporary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Use the old endpoint for now.":                       "for now",
		"For now, retries are off":                            "For now",
		"The importer is currently broken on empty files":     "currently",
		"Deploys are frozen until Friday":                     "until Friday",
		"Freeze till next monday!":                            "till next monday",
		"Do not touch billing this week":                      "this week",
		"(temporary) the cache is off":                        "temporary",
		"The temporary files stay, but temporarily on disk":   "temporarily",
		"Fixed in PR 412":                                     "PR 412",
		"Waits for pull request #7":                           "pull request #7",
		"On branch feature/cart the schema differs":           "branch feature/cart",
		"The `fix/stock-cache` branch has another lock order": "fix/stock-cache` branch",
		"Work in progress: half of the routes are moved":      "Work in progress",
		"Stock is wrong today":                                "today",
		"Per ora il magazzino è spento":                       "Per ora",
		"Oggi la coda è ferma":                                "Oggi",
		"Il rilascio è fermo fino a venerdì":                  "fino a venerdì",
		"目前不要使用新接口":                                           "目前",
		"暂时关闭缓存":                                              "暂时",
		"发布冻结到周五":                                             "到周五",
		"今のところキャッシュは無効":                                       "今のところ",
		"金曜日までデプロイ禁止":                                         "曜日まで",
		"당분간 캐시를 끈다":                                          "당분간",
		"금요일까지 배포 금지":                                         "요일까지",

		"Read it from the current user":                    "",
		"Prices carry their currency":                      "",
		"Concurrently running jobs share a lock":           "",
		"The currently selected tenant decides the schema": "",
		"Write a temporary file, then rename it":           "",
		"The price counts at the moment of the order":      "",
		"Call `today()` in UTC":                            "",
		"Time.today is local":                              "",
		"Orders of today's batch are read twice":           "",
		"Forward compatibility matters for nowhere else":   "",
		"Branch coverage is measured by the linter":        "",
		"The branch-and-bound solver needs sorted input":   "",
		"The files of feature/cart are generated":          "",
		"Every PR needs two reviews":                       "",
		"Al momento dell'ordine il prezzo è fisso":         "", //nolint:misspell // Italian
		"从当前用户读取":                                          "",
		"現在のユーザーを読む":                                       "",
		"현재 사용자를 읽는다":                                      "",
		"임시 파일을 쓰고 이름을 바꾼다":                                "",
		"": "",
	} {
		if got := temporary(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The advice is given where a person or an agent says something, and gave no time.
func TestWarnTemporary(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		door    Origin
		request RememberRequest
		want    int
	}{
		"said":            {FromMCP, RememberRequest{Content: "The cache is off for now."}, 1},
		"in the title":    {FromCLI, RememberRequest{Title: "Until Friday", Content: "No deploys."}, 1},
		"with expiry":     {FromMCP, RememberRequest{Content: "The cache is off for now.", Expires: "2w"}, 0},
		"of an import":    {FromImport, RememberRequest{Content: "The cache is off for now."}, 0},
		"of a session":    {FromSession, RememberRequest{Content: "The cache is off for now.", Kind: SessionOutcome}, 0},
		"holds for good":  {FromMCP, RememberRequest{Content: "The cache is off."}, 0},
		"with times kept": {FromCLI, RememberRequest{Content: "The cache is off for now.", Imported: &Imported{}}, 0},
	} {
		s := New(nil, Options{})
		d, err := s.draft(Caller{Door: tc.door, Project: newID(), User: "kim"}, tc.request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.warnings) != tc.want {
			t.Errorf("%s: %q", name, d.warnings)
		}
	}
}

// What is looked for before the expressions leaves out no text that they would match.
func TestNoTemporaryTextIsLeftOut(t *testing.T) {
	t.Parallel()
	words := append([]string{"pr", "MR", "pull request", "merge request", "#7", "12", "!3", "for", "now", "at the", "this", "week", "ſprint", "next", "friday", "Sun", "day",
		"lunedì", "venerdì", "domenica", "branch", "`a/b`", "fix/x", "ſ", "\u212A", "\u212A branch", "file", "temporary", "temporarily", "temporaneamente", "quarter", "month",
		"the next release", "further notice", "release", "mon", "1"}, passingWords...)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, w := range rapid.SliceOfN(rapid.SampledFrom(words), 1, 6).Draw(t, "words") {
			if rapid.Bool().Draw(t, "upper") {
				w = strings.ToUpper(w)
			}
			b.WriteString(w + rapid.SampledFrom([]string{" ", "", ", ", "\n", "  ", "'"}).Draw(t, "between"))
		}
		text := b.String()
		if passing.MatchString(text) {
			found++
			if !mayPass(strings.ToLower(text)) {
				t.Fatalf("%q matches and is left out", text)
			}
		}
		if onBranch.MatchString(text) && !strings.Contains(strings.ToLower(text), "branch") {
			t.Fatalf("%q is about a branch and is left out", text)
		}
	})
	if found == 0 {
		t.Error("no text was temporary")
	}
}
