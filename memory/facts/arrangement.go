package facts

import (
	"slices"
	"strings"
)

// item is a piece of a statement that says something: a word, number, identifier, negation, comparison.
type item struct {
	root    string
	lead    string // the preposition or conjunction before it, see leads
	brk     breakKind
	passive bool // a participle after a form of be
}

// breakKind is what parts an item from the one before.
type breakKind int

const (
	noBreak breakKind = iota
	commaBreak
	sentenceBreak
)

func (s *statement) add(i item) {
	i.lead, i.brk = s.lead, s.brk
	s.items, s.lead, s.brk = append(s.items, i), "", noBreak
}

// settle puts items that have no place of their own where all texts have them.
func (s *statement) settle() {
	// Obligations of one kind are compared as a whole: must is the same as stating it plainly.
	if len(unique(s.obligations)) == 1 && s.obligations[0] != may {
		s.items = drop(s.items, s.obligations[0])
	}
	var settled []item
	for _, sentence := range sentences(s.items) {
		settled = append(settled, settleBound(settleOnly(settleOf(sentence)))...)
	}
	s.items = settled
}

// drop leaves the items of a root out; what they began is begun by the next.
func drop(items []item, root string) []item {
	var kept []item
	var lead string
	brk := noBreak
	for _, i := range items {
		if i.root == root {
			lead, brk = i.lead, max(brk, i.brk)
			continue
		}
		if i.lead == "" {
			i.lead = lead
		}
		i.brk = max(i.brk, brk)
		kept, lead, brk = append(kept, i), "", noBreak
	}
	return kept
}

// settleOf makes one of "the data of staging" and "the staging data", where what is after the of is one word.
func settleOf(sentence []item) []item {
	for i := 1; i < len(sentence); i++ {
		if sentence[i].lead != "of" || sentence[i].brk != noBreak || modifies(sentence[i].root) {
			continue
		}
		if i+1 < len(sentence) {
			if next := sentence[i+1]; next.lead == "" && next.brk == noBreak && !next.passive {
				continue
			}
		}
		owner, owned := sentence[i], sentence[i-1]
		if owned.passive || strings.HasPrefix(owned.root, "#") {
			continue
		}
		owner.lead, owned.lead, owner.brk, owned.brk = owned.lead, "", owned.brk, noBreak
		sentence[i-1], sentence[i] = owner, owned
	}
	return sentence
}

// settleOnly moves an "only" at the end before what it limits.
func settleOnly(sentence []item) []item {
	n := len(sentence)
	if n < 3 || sentence[n-1].root != only || sentence[n-1].brk != noBreak {
		return sentence
	}
	return moved(sentence, n-1, n-2)
}

// settleBound moves a bound that is said as a word, "the maximum is 3", before the number when there is only one of each.
func settleBound(sentence []item) []item {
	bound, number := -1, -1
	for i, it := range sentence {
		switch {
		case it.root == atMost || it.root == atLeast:
			if bound >= 0 {
				return sentence
			}
			bound = i
		case strings.HasPrefix(it.root, "#"):
			if number >= 0 {
				return sentence
			}
			number = i
		}
	}
	switch {
	case bound < 0 || number < 0 || bound+1 == number:
		return sentence
	case bound < number:
		return moved(sentence, bound, number-1)
	}
	return moved(sentence, bound, number)
}

// moved takes an item from one place to another. What stands first keeps the break before it.
func moved(items []item, from, to int) []item {
	brk := items[0].brk
	it := items[from]
	rest := slices.Delete(slices.Clone(items), from, from+1)
	rest[0].brk, it.brk = noBreak, noBreak
	if to < from { // it takes over what leads to the item it now precedes
		it.lead, rest[to].lead = rest[to].lead, ""
	}
	out := slices.Insert(rest, to, it)
	out[0].brk = brk
	return out
}

func sentences(items []item) [][]item {
	var all [][]item
	for start, i := 0, 1; i <= len(items); i++ {
		if i == len(items) || items[i].brk == sentenceBreak {
			all = append(all, items[start:i])
			start = i
		}
	}
	return all
}

// compareArrangement wants the same items in the same order and after the same prepositions. Only two things may change
// their order: an adjunct or a clause goes from the front of a sentence to its end, and the passive is turned active. All
// else is a change of who does what to whom, or when: A trusts B, compress then encrypt, from staging to production.
func compareArrangement(x, y *statement) Reason {
	if arranged(x.items, y.items, true) || arranged(activated(x.items), activated(y.items), false) {
		return Reason{}
	}
	return Reason{"order", outline(x.items), outline(y.items)}
}

func outline(items []item) string {
	roots := make([]string, 0, len(items))
	for _, i := range items {
		root := strings.TrimPrefix(i.root, "#")
		if i.lead != "" && i.lead != loose && i.lead != i.root {
			root = i.lead + " " + root
		}
		if i.passive {
			root += " (passive)"
		}
		roots = append(roots, root)
	}
	const shown = 12
	if len(roots) > shown {
		roots = append(roots[:shown], "…")
	}
	if len(roots) == 0 {
		return "nothing"
	}
	return strings.Join(roots, " ")
}

func arranged(x, y []item, voice bool) bool {
	if len(x) != len(y) {
		return false
	}
	if equalItems(x, y, voice) {
		return true
	}
	xs, ys := sentences(x), sentences(y)
	if len(xs) != len(ys) { // a full stop for a comma: the sentences of both are one
		return rotated(x, y, voice)
	}
	for i := range xs {
		if !equalItems(xs[i], ys[i], voice) && !rotated(xs[i], ys[i], voice) {
			return false
		}
	}
	return true
}

func equalItems(x, y []item, voice bool) bool {
	return slices.EqualFunc(x, y, func(a, b item) bool { return alike(a, b, voice) })
}

// alike compares items; two texts of the same voice must have it in the same place.
func alike(a, b item, voice bool) bool {
	return a.root == b.root && strong(a.lead) == strong(b.lead) && (!voice || a.passive == b.passive)
}

// strong is a lead with a meaning of its own.
func strong(lead string) string {
	switch lead {
	case loose, "of", "once", "every", "each", "all":
		return ""
	}
	return lead
}

// rotated tells whether one sentence has at its front what the other has at its end, and a preposition or conjunction
// leads it in both.
func rotated(x, y []item, voice bool) bool {
	if len(x) != len(y) {
		return false
	}
	turned := func(front, back []item) bool {
		if len(front) == 0 || front[0].lead == "" {
			return false
		}
		for cut := 1; cut < len(front); cut++ {
			at := len(front) - cut
			if back[at].lead != "" && alike(front[0], back[at], voice) && equalItems(front[cut:], back[:at], voice) && equalItems(front[:cut], back[at:], voice) {
				return true
			}
		}
		return false
	}
	return turned(x, y) || turned(y, x)
}

// activated turns each passive into the active: what does it, what is done, and to what.
func activated(items []item) []item {
	items = slices.Clone(items)
	for v := range items {
		if items[v].passive {
			activate(items, v)
		}
	}
	return items
}

// maxClause bounds the clauses that are rearranged, in items, and with it the time: no one says so much between two commas.
const maxClause = 64

// activate rearranges the clause of the passive verb at v.
func activate(items []item, v int) {
	start := v
	for start > 0 && items[start].brk == noBreak && !subordinators[items[start].lead] && items[start].lead != "because" && items[start].lead != "once" {
		start--
	}
	first, root := items[start], items[v].root
	verb := v // with what modifies it
	for verb > start && modifies(items[verb-1].root) && items[verb].lead == "" {
		verb--
	}
	end := v + 1
	for end < len(items) && items[end].brk == noBreak && !subordinators[items[end].lead] && items[end].lead != "because" {
		end++
	}
	items[v].passive = false
	for v+1 < end && particles[items[v+1].root] && items[v+1].lead == "" { // rolled back
		v++
	}
	if end-start > maxClause {
		return
	}
	agent := end // the last, as in deduplicated by id by the worker
	for i := end - 1; i > v && agent == end; i-- {
		if leadsAgent(items[i].lead, root) {
			agent = i
		}
	}
	after := agent // where the agent ends
	for after < end && (after == agent || items[after].lead == "") {
		after++
	}
	clause := slices.Concat(items[agent:after], items[verb:v+1], items[start:verb], items[v+1:agent], items[after:end])
	if after > agent {
		clause[0].lead = ""
	}
	if verb > start {
		clause[after-agent+v+1-verb].lead, clause[after-agent+v+1-verb].brk = "", noBreak
		if start == 0 && first.lead != "" && !subordinators[first.lead] {
			clause[after-agent+v+1-verb].lead = first.lead
		}
	}
	clause[0].brk = first.brk
	if subordinators[first.lead] || first.lead == "because" || first.lead == "once" {
		clause[0].lead = first.lead
	}
	copy(items[start:end], clause)
}

// particles belong to the verb before them.
var particles = buildSet("back up down out off")

// leadsAgent tells whether a preposition names what does something; what is needed is needed for something.
func leadsAgent(lead, verb string) bool {
	return lead == "by" || lead == loose && verb == canonical("need")
}

// modifies tells what stays with its verb.
func modifies(root string) bool {
	switch root {
	case negation, noLonger, always, usually, sometimes, rarely, only, past, future, must, should, may:
		return true
	}
	return false
}
