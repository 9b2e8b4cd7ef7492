package retrieval

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// conversation is one of a LoCoMo file: sessions of turns under the names session_1, session_2 …, each with a time under
// session_1_date_time, and questions whose evidence are ids of turns.
type conversation struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	Questions    []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

type turn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

var (
	session = regexp.MustCompile(`^session_([0-9]+)$`)
	// timeOfSession is how LoCoMo writes a time: "1:56 pm on 8 May, 2023".
	timeOfSession = "3:04 pm on 2 January, 2006"
)

// ReadLoCoMo reads a file of the LoCoMo benchmark (Maharana et al., 2024), an array of conversations. Each becomes a project,
// each turn a note "speaker: text [caption of a picture]", each question a query whose answers are the turns it gives as
// evidence and whose kind is "category_1" to "category_5". Questions none of whose evidence is a turn are left out: nothing
// could be found for them. The set is not for Check, since people do say the same twice.
func ReadLoCoMo(r io.Reader, name string) (*Set, error) {
	var conversations []conversation
	if err := json.NewDecoder(r).Decode(&conversations); err != nil {
		return nil, problem.Invalidf("data", "%s is no LoCoMo file: %v", name, err).Fix("the file is a JSON array of conversations").Because(err)
	}
	set := &Set{}
	for i := range conversations {
		if err := set.addConversation(&conversations[i]); err != nil {
			return nil, problem.Invalidf("data", "%s: conversation %d: %v", name, i+1, err).Because(err)
		}
	}
	return set, nil
}

func (s *Set) addConversation(c *conversation) error {
	project := Project{ID: strings.ToLower(c.ID), Name: c.ID, About: "conversation"}
	var numbers []int
	for key := range maps.Keys(c.Conversation) {
		if m := session.FindStringSubmatch(key); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	ids := map[string]string{}
	for _, n := range numbers {
		key := "session_" + strconv.Itoa(n)
		var turns []turn
		if err := json.Unmarshal(c.Conversation[key], &turns); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		var written string
		if err := json.Unmarshal(c.Conversation[key+"_date_time"], &written); err != nil {
			return fmt.Errorf("%s_date_time: %w", key, err)
		}
		at, err := time.Parse(timeOfSession, written)
		if err != nil {
			return fmt.Errorf("%s_date_time: %w", key, err)
		}
		day := Date{at.Truncate(24 * time.Hour)}
		if day.After(project.AsOf.Time) {
			project.AsOf = day
		}
		for _, t := range turns {
			content := t.Speaker + ": " + t.Text
			if t.Caption != "" {
				content += " [" + t.Caption + "]"
			}
			id := project.ID + "-" + strings.ToLower(strings.ReplaceAll(t.ID, ":", "-"))
			ids[t.ID] = id
			s.Memories = append(s.Memories, Memory{ID: id, Project: project.ID, Kind: "note", Content: content, Created: day, Confirmed: day})
		}
	}
	s.Projects = append(s.Projects, project)
	for i, q := range c.Questions {
		if answers := turnsOf(q.Evidence, ids); len(answers) > 0 {
			s.Queries = append(s.Queries, Query{
				ID: fmt.Sprintf("%s-q%d", project.ID, i+1), Project: project.ID, Kind: Kind("category_" + strconv.Itoa(q.Category)),
				Text: q.Question, Answers: answers,
			})
		}
	}
	return nil
}

// turnsOf gives the memories of a question's evidence. Some entries of the published file hold several turns, parted by
// blanks or semicolons, and a few name turns that are not there.
func turnsOf(evidence []string, ids map[string]string) (answers []string) {
	for _, entry := range evidence {
		for _, id := range strings.FieldsFunc(entry, func(r rune) bool { return r == ' ' || r == ';' || r == ',' }) {
			if m := ids[id]; m != "" && !slices.Contains(answers, m) {
				answers = append(answers, m)
			}
		}
	}
	return answers
}
