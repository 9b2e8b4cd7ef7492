package staleness

import "regexp"

// foreign are folders of what others wrote.
var foreign = regexp.MustCompile(`(?:^|/)(?:vendor|node_modules|third[_-]party|bower_components|Godeps)/|\.min\.(?:js|css)$`)

// scoreMechanical holds the alerts against the oracle. The first alert of a rule that is right settles a statement for it.
func scoreMechanical(r *Report, p *predictor, lost *losses) *Truth {
	t := &Truth{}
	for _, st := range r.Statements {
		if len(st.Judged) > 0 {
			t.Statements++
		}
		if st.Stale > 0 {
			t.Stale++
		}
	}
	return t.score(r, func(a *Alert, caught bool) Outcome {
		known, gone := lost.judges(p.memories[a.Statement], a.Statement, a.Step, a.Names)
		switch {
		case caught:
			return Late
		case !known:
			return Unknown
		case gone:
			return Right
		}
		return Wrong
	}, func(a *Alert, o Outcome) { a.Mechanical = o })
}

// scoreHuman holds the alerts against what the authors did. Their edit settles a statement.
func scoreHuman(r *Report) *Truth {
	t := &Truth{Statements: len(r.Statements)}
	for _, st := range r.Statements {
		if st.Edited > 0 {
			t.Stale++
		}
	}
	return t.score(r, func(a *Alert, _ bool) Outcome {
		switch edited := r.Statements[a.Statement].Edited; {
		case edited == 0:
			return Wrong
		case a.Step > edited:
			return Late
		case a.Step == edited:
			return AtEdit
		}
		return Right
	}, func(a *Alert, o Outcome) { a.Human = o })
}

func (t *Truth) score(r *Report, judge func(*Alert, bool) Outcome, note func(*Alert, Outcome)) *Truth {
	for _, rule := range Rules() {
		s := Score{Rule: rule}
		caught := map[int]bool{}
		for n := range r.Alerts {
			a := &r.Alerts[n]
			if a.Rule != rule {
				continue
			}
			outcome := judge(a, caught[a.Statement])
			note(a, outcome)
			switch outcome {
			case AtEdit:
				s.AtEdit++
				fallthrough
			case Right:
				s.Right++
				caught[a.Statement] = true
			case Wrong:
			case Unknown:
				s.Unknown++
				continue
			case Late:
				continue
			}
			s.Alerts++
		}
		s.Catches = len(caught)
		s.Precision, s.Recall, s.AlertsPerCatch = ratio(s.Right, s.Alerts), ratio(s.Catches, t.Stale), ratio(s.Alerts, s.Catches)
		t.Scores = append(t.Scores, s)
	}
	return t
}

func ratio(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	out := float64(a) / float64(b)
	return &out
}
