package action

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/problem"
)

// Log writes to the log of a job, in which lines of a certain form are commands to the runner. Texts are cleaned, so that none of
// them is one.
type Log struct{ w io.Writer }

// NewLog writes to w, which is the standard output of a step.
func NewLog(w io.Writer) Log { return Log{w} }

// Level is how much an annotation weighs.
type Level string

// The levels of annotations, as runners name them.
const (
	Notice  Level = "notice"
	Warning Level = "warning"
	Error   Level = "error"
)

// Annotation is a remark that shows on the page of the job, and at a line of a file when it names one.
type Annotation struct {
	Level Level
	Title string
	Text  string
	File  string // from the top of the repository; "" for none
	Line  int    // 0 for none
}

// maxAnnotation bounds the text of an annotation, in characters.
const maxAnnotation = 1000

// Annotate makes an annotation.
func (l Log) Annotate(a Annotation) {
	var properties []string
	set := func(name, value string) { properties = append(properties, name+"="+escapeProperty(value)) }
	if a.File != "" {
		set("file", clean(a.File))
		if a.Line > 0 {
			set("line", fmt.Sprint(a.Line))
		}
	}
	if a.Title != "" {
		set("title", clean(a.Title))
	}
	command := string(a.Level)
	if len(properties) > 0 {
		command += " " + strings.Join(properties, ",")
	}
	fmt.Fprintf(l.w, "::%s::%s\n", command, escapeData(clean(a.Text)))
}

// Say writes a line that is no command, whatever it says.
func (l Log) Say(format string, args ...any) {
	fmt.Fprintln(l.w, "stele: "+clean(fmt.Sprintf(format, args...)))
}

// Mask makes the runner replace a text wherever it appears from here on.
func (l Log) Mask(secrets ...string) {
	for _, s := range secrets {
		if strings.TrimSpace(s) != "" {
			fmt.Fprintf(l.w, "::add-mask::%s\n", escapeData(s))
		}
	}
}

// Errors is a stream each of whose writes becomes an error on the page of the job.
func (l Log) Errors() io.Writer { return errorStream{l} }

type errorStream struct{ log Log }

func (e errorStream) Write(p []byte) (int, error) {
	if text := strings.TrimSpace(string(p)); text != "" {
		e.log.Annotate(Annotation{Level: Error, Text: text})
	}
	// The last thing a program says is an error, and nobody flushes behind it.
	if buffered, ok := e.log.w.(interface{ Flush() error }); ok {
		return len(p), buffered.Flush()
	}
	return len(p), nil
}

// clean makes a text one line without anything invisible, and breaks the older form of a command, which runners take anywhere in
// a line.
func clean(s string) string {
	runes := []rune(strings.ReplaceAll(report.Visible(strings.TrimSpace(s)), "##[", "#\u200b#["))
	if len(runes) > maxAnnotation {
		runes = append(runes[:maxAnnotation-1], '…')
	}
	return string(runes)
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(s string) string     { return dataEscapes.Replace(s) }
func escapeProperty(s string) string { return propertyEscapes.Replace(s) }

// Output is a value that later steps of the job can read.
type Output struct{ Name, Value string }

// SetOutputs gives values to later steps. A value may hold anything: what ends it cannot be guessed.
func (j *Job) SetOutputs(outputs []Output) error {
	var b strings.Builder
	for _, o := range outputs {
		end := "stele_" + uuid.NewString()
		fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", o.Name, end, o.Value, end)
	}
	return appendTo("GITHUB_OUTPUT", j.output, b.String())
}

// maxSummary bounds what is added to the summary, in bytes; runners drop one of more than 1 MiB.
const maxSummary = 1 << 20

// Summarize adds Markdown to the summary of the job.
func (j *Job) Summarize(markdown string) error {
	if len(markdown) > maxSummary {
		return problem.Invalidf("summary", "it has %d bytes, at most %d are shown", len(markdown), maxSummary)
	}
	return appendTo("GITHUB_STEP_SUMMARY", j.summary, markdown+"\n")
}

// appendTo adds to a file of the runner; a runner that names none wants none.
func appendTo(variable, name, text string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return problem.New(problem.Unavailable, variable, "the file cannot be written: "+err.Error()).Because(err)
	}
	return nil
}
