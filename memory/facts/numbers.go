package facts

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number is a number or quantity in canonical form.
type number struct {
	value  string // with its dimension: "3", "5e+06 B", "1 s", "20 %"
	counts string // stem of the word after it, when it is no unit
}

type unit struct {
	dimension string
	factor    float64
}

// units by their spellings. Bytes are decimal unless written with an i (IEC 80000-13); in prose kb and KB both mean bytes.
// Months and years have no fixed length, so they stay dimensions of their own.
var units = buildUnits(map[string]unit{
	"b byte bytes": {"B", 1}, "kb kilobyte kilobytes": {"B", 1e3}, "mb megabyte megabytes": {"B", 1e6},
	"gb gigabyte gigabytes": {"B", 1e9}, "tb terabyte terabytes": {"B", 1e12},
	"kib kibibyte kibibytes": {"B", 1 << 10}, "mib mebibyte mebibytes": {"B", 1 << 20},
	"gib gibibyte gibibytes": {"B", 1 << 30}, "tib tebibyte tebibytes": {"B", 1 << 40},
	"bit bits": {"bit", 1}, "kbit kbits": {"bit", 1e3}, "mbit mbits": {"bit", 1e6}, "gbit gbits": {"bit", 1e9},
	"kbps": {"bit/s", 1e3}, "mbps": {"bit/s", 1e6}, "gbps": {"bit/s", 1e9},
	"ns nanosecond nanoseconds": {"s", 1e-9}, "us µs μs microsecond microseconds": {"s", 1e-6},
	"ms msec millisecond milliseconds millis 毫秒 ミリ秒 밀리초": {"s", 1e-3}, "s sec secs second seconds 秒 초": {"s", 1},
	"min mins minute minutes 分 分钟 分鐘 분": {"s", 60}, "h hr hrs hour hours 小时 小時 時間 시간": {"s", 3600},
	"d day days 天 日 일": {"s", 86400}, "w week weeks 周 週間 주": {"s", 604800},
	"mo month months": {"month", 1}, "y yr year years 年 년": {"month", 12},
	"% percent pct": {"%", 1}, "k": {"", 1e3}, "px pixel pixels": {"px", 1}, "hz": {"Hz", 1}, "khz": {"Hz", 1e3}, "mhz": {"Hz", 1e6}, "ghz": {"Hz", 1e9},
	"x times time 次 回 번":                       {"times", 1},
	"rps qps req/s requests/s requests/second": {"/s", 1},
	"core cores cpu cpus vcpu vcpus":           {"cores", 1},
	"thousand":                                 {"", 1e3}, "million": {"", 1e6}, "billion": {"", 1e9}, "万": {"", 1e4}, "亿": {"", 1e8},
})

func buildUnits(spellings map[string]unit) map[string]unit {
	all := map[string]unit{}
	for names, u := range spellings {
		for name := range strings.FieldsSeq(names) {
			all[name] = u
		}
	}
	return all
}

// attachedOnly are units of one letter, which apart from their number are words or names.
var attachedOnly = map[string]bool{"b": true, "d": true, "w": true, "y": true, "k": true, "x": true, "mo": true}

var numberWords = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
	"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	"single": 1, "couple": 2, "both": 2, "dozen": 12,
	"tre": 3, "quattro": 4, "cinque": 5, "sette": 7, "otto": 8, "nove": 9, "dieci": 10, "cento": 100, "mille": 1000,
}

// afterPronoun are words that make the "one" before them a person.
var afterPronoun = buildSet("must should can cannot may might could needs has never")

// multipliers follow another number word.
var multipliers = map[string]float64{"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}

// wholeWords say a quantity by themselves. First and last are not among the numbers but opposites.
var wholeWords = map[string]string{
	"once": "1 times", "twice": "2 times", "thrice": "3 times", "half": "0.5", "halves": "0.5", "quarter": "0.25",
	"double": "2 times", "triple": "3 times", "doubles": "2 times", "triples": "3 times",
	"second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th",
	"first": "1st",
}

var (
	ordinalForm = regexp.MustCompile(`^(\d+)(?:st|nd|rd|th)$`)
	rangeForm   = regexp.MustCompile(`^(\d+(?:\.\d+)?)(?:-|–|—|\.\.)(\d+(?:\.\d+)?)(\pL*%?)$`)
	numberForm  = regexp.MustCompile(`^(<=|>=|[<>≤≥~≈=])?([-+−])?([$€£]?)(\d+(?:[,_]\d{3})*|\d+)(\.\d+)?(?:-)?([\pLµμ%]*(?:/[\pL]+)?)$`)
	hyphenated  = regexp.MustCompile(`^([a-z]+)-([a-z]+)(?:-[a-z]+)?$`)
)

var symbols = map[string]string{"<": less, ">": more, "<=": atMost, "≤": atMost, ">=": atLeast, "≥": atLeast}

func startsNumber(tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	n, used := new(statement).readNumber(tokens)
	return used > 0 && len(n) > 0
}

// readNumber reads a number at the beginning of tokens, with its unit, and says how many tokens it took.
func (s *statement) readNumber(tokens []token) (found []number, used int) {
	t := tokens[0]
	if m := ordinalForm.FindStringSubmatch(t.lower); m != nil {
		switch {
		case strings.HasSuffix(m[1], "1"):
			return []number{{value: m[1] + "st"}}, 1
		case strings.HasSuffix(m[1], "2"):
			return []number{{value: m[1] + "nd"}}, 1
		case strings.HasSuffix(m[1], "3"):
			return []number{{value: m[1] + "rd"}}, 1
		}
		return []number{{value: m[1] + "th"}}, 1
	}
	if m := rangeForm.FindStringSubmatch(t.text); m != nil {
		from, _ := s.quantity(m[1], m[3], tokens[1:])
		to, more := s.quantity(m[2], m[3], tokens[1:])
		return []number{from, to}, 1 + more
	}
	if m := numberForm.FindStringSubmatch(t.text); m != nil {
		if _, known := unitOf(m[6]); m[6] == "" || known {
			if c := symbols[m[1]]; c != "" {
				s.compare(c)
			}
			digits := strings.NewReplacer(",", "", "_", "").Replace(m[4]) + m[5]
			if m[2] == "-" || m[2] == "−" {
				digits = "-" + digits
			}
			n, more := s.quantity(digits, m[6], tokens[1:])
			n.value += m[3] // amounts of two currencies differ
			return []number{n}, 1 + more
		}
	}
	if n, used := fractionOfUnit(tokens); used > 0 {
		return []number{n}, used
	}
	if whole, ok := wholeWords[t.lower]; ok {
		return []number{{value: whole}}, 1
	}
	return s.numberInWords(tokens)
}

// fractionOfUnit reads "half an hour", "a quarter of an hour", "an hour" and the like.
func fractionOfUnit(tokens []token) (n number, used int) {
	word := func(i int) string {
		if i < len(tokens) {
			return tokens[i].lower
		}
		return ""
	}
	part := 1.0
	if word(used) == "a" && (word(1) == "half" || word(1) == "quarter") {
		used++
	}
	switch word(used) {
	case "half":
		part, used = 0.5, used+1
	case "quarter":
		part, used = 0.25, used+1
	}
	if used > 0 && word(used) == "of" {
		used++
	}
	if word(used) != "a" && word(used) != "an" {
		return n, 0
	}
	u, ok := unitOf(word(used + 1))
	if !ok || !isTime(u) || attachedOnly[word(used+1)] || !closes(tokens[used+1:]) {
		return n, 0
	}
	return number{value: format(part*u.factor) + " " + u.dimension}, used + 2
}

// numberInWords reads "twenty-five", "two hundred MB", "three-second".
func (s *statement) numberInWords(tokens []token) (found []number, used int) {
	if m := hyphenated.FindStringSubmatch(tokens[0].lower); m != nil {
		tens, ok := numberWords[m[1]]
		if ones, both := numberWords[m[2]]; ok && both {
			n, more := s.quantity(format(tens+ones), "", tokens[1:])
			return []number{n}, 1 + more
		}
		if _, known := unitOf(m[2]); ok && known {
			n, _ := s.quantity(format(tens), m[2], nil)
			return []number{n}, 1
		}
		return nil, 0
	}
	if tokens[0].lower == "one" && len(tokens) > 1 && afterPronoun[tokens[1].lower] {
		return nil, 0
	}
	total, part := 0.0, 0.0
	for used < len(tokens) {
		word := tokens[used].lower
		if value, ok := numberWords[word]; ok && (used == 0 || value < part || part == 0) {
			part += value
		} else if by, ok := multipliers[word]; ok && (used > 0 || by >= 100) {
			part = max(part, 1) * by
			if by > 100 {
				total, part = total+part, 0
			}
		} else {
			break
		}
		used++
	}
	if used == 0 {
		return nil, 0
	}
	n, more := s.quantity(format(total+part), "", tokens[used:])
	return []number{n}, used + more
}

// quantity gives digits with the unit attached to them or in the next token.
func (s *statement) quantity(digits, attached string, next []token) (n number, used int) {
	u, known := unitOf(attached)
	if attached == "" && len(next) > 0 {
		word := next[0].text
		for cut := range word { // a CJK unit begins a longer run of text
			if r, _ := utf8.DecodeRuneInString(word); !isCJK(r) {
				break
			}
			if c, ok := units[word[:cut]]; ok && len(word[:cut]) > 0 {
				u, known = c, true
			}
		}
		switch v, ok := unitOf(word); {
		case ok && !attachedOnly[next[0].lower]:
			u, known, used = v, true, 1
		case next[0].lower == "per" && len(next) > 1 && strings.HasPrefix(next[1].lower, "cent"):
			u, known, used = units["%"], true, 2
		case !known:
			n.counts = canonical(next[0].lower)
		}
	}
	value, err := strconv.ParseFloat(digits, 64)
	if !known || err != nil {
		// Without a unit 1.20 may be a version, which is not 1.2.
		n.value = digits
		return n, used
	}
	n.value = format(value*u.factor) + strings.TrimRight(" "+u.dimension, " ")
	return n, used
}

// unitOf finds a unit by its spelling. Mb and Gb are bits where MB and GB are bytes.
func unitOf(spelling string) (unit, bool) {
	switch spelling {
	case "Mb":
		return units["mbit"], true
	case "Gb":
		return units["gbit"], true
	case "M":
		return unit{"", 1e6}, true
	case "m":
		return units["min"], true
	}
	if spelling == "" {
		return unit{}, false
	}
	u, ok := units[strings.ToLower(spelling)]
	return u, ok
}

// format rounds to nine digits, so that 0.1 s and 100 ms agree.
func format(value float64) string { return strconv.FormatFloat(value, 'g', 9, 64) }
