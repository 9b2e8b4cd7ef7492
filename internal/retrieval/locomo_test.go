package retrieval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
)

func TestReadLoCoMo(t *testing.T) {
	t.Parallel()
	got, err := retrieval.ReadLoCoMo(strings.NewReader(`[{"sample_id": "Talk-1", "conversation": {"speaker_a": "Ada", "speaker_b": "Bo",
		"session_2_date_time": "9:05 am on 2 March, 2024", "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "The kiln is hot."}],
		"session_1_date_time": "1:56 pm on 28 February, 2024", "session_1": [
			{"speaker": "Ada", "dia_id": "D1:1", "text": "I bought clay."},
			{"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a blue vase", "img_url": ["x"]}],
		"session_3_date_time": "1:00 pm on 3 March, 2024"},
		"qa": [
			{"question": "What did Ada buy?", "answer": "clay", "evidence": ["D1:1"], "category": 4},
			{"question": "Which colour?", "answer": 7, "evidence": ["D1:2; D2:1", "D1:2 D9:9"], "category": 1},
			{"question": "Who?", "evidence": ["D:1:1"], "category": 5},
			{"question": "Why?", "evidence": [], "category": 5}]}]`), "talk.json")
	if err != nil {
		t.Fatal(err)
	}
	first, second := day(t, "2024-02-28"), day(t, "2024-03-02")
	want := &retrieval.Set{
		Projects: []retrieval.Project{{ID: "talk-1", Name: "Talk-1", About: "conversation", AsOf: second}},
		Memories: []retrieval.Memory{
			{ID: "talk-1-d1-1", Project: "talk-1", Kind: "note", Content: "Ada: I bought clay.", Created: first, Confirmed: first},
			{ID: "talk-1-d1-2", Project: "talk-1", Kind: "note", Content: "Bo: Look! [a blue vase]", Created: first, Confirmed: first},
			{ID: "talk-1-d2-1", Project: "talk-1", Kind: "note", Content: "Ada: The kiln is hot.", Created: second, Confirmed: second},
		},
		Queries: []retrieval.Query{
			{ID: "talk-1-q1", Project: "talk-1", Kind: "category_4", Text: "What did Ada buy?", Answers: []string{"talk-1-d1-1"}},
			{ID: "talk-1-q2", Project: "talk-1", Kind: "category_1", Text: "Which colour?", Answers: []string{"talk-1-d1-2", "talk-1-d2-1"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestReadLoCoMoSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, want string }{
		{`{"qa": []}`, "x.json is no LoCoMo file"},
		{`[{}, {"conversation": {"session_1": 3}}]`, "x.json: conversation 2: session_1: json"},
		{`[{"conversation": {"session_1": []}}]`, "x.json: conversation 1: session_1_date_time: unexpected end"},
		{`[{"conversation": {"session_1": [], "session_1_date_time": "noon"}}]`, "x.json: conversation 1: session_1_date_time: parsing time"},
	} {
		_, err := retrieval.ReadLoCoMo(strings.NewReader(c.file), "x.json")
		if p, ok := problem.As(err); !ok || !strings.HasPrefix(p.Detail, c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
}
