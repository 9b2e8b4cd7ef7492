package transcript

import "strings"

// Turn is one question of a person and what came of it.
type Turn struct {
	Asked  string
	Answer string   // what the assistant wrote until the next question, a blank line between two texts
	Edited []string // files
	Cut    bool     // the answer was longer than what is shown
}

// maxAnswer bounds the answer of a Turn, in bytes.
const maxAnswer = 64 << 10

// FindTurn gives the turn that a client knows by an id, or that a line of it has; false when the file has none such. The file is read
// through, never loaded. It gives ErrUnusable where there is none.
func FindTurn(path, id string) (Turn, bool, error) {
	f, err := open(path)
	if err != nil {
		return Turn{}, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var t Turn
	var answer strings.Builder
	found, seen := false, map[string]bool{}
	for _, e := range entries(f.lines(0, f.size)) {
		if e.kind == asked && !e.aside {
			if found {
				break
			}
			t = Turn{Asked: e.text}
			answer.Reset()
			clear(seen)
		}
		found = found || e.kind != other && e.turn == id && id != ""
		if e.kind == answered && !e.aside {
			if t.Cut = t.Cut || answer.Len()+len(e.text) > maxAnswer; !t.Cut {
				if answer.Len() > 0 {
					answer.WriteString("\n\n")
				}
				answer.WriteString(e.text)
			}
		}
		for _, name := range e.files {
			if !seen[name] && len(seen) < maxList {
				seen[name] = true
				t.Edited = append(t.Edited, name)
			}
		}
	}
	t.Answer = answer.String()
	return t, found, nil
}
