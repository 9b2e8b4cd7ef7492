// Package action runs in a job of GitHub Actions: it reads what a runner says about the event, finds the commit to compare
// with, and tells the result where people look, in the summary of the job, in annotations, in one comment of the pull request
// and in outputs. What the code and the model have to do with each other is package drift's business.
//
// Whatever a repository names (paths, elements, branches, authors) is text that anybody may have written. It reaches the log
// only as the data of a workflow command, and a page only escaped.
package action

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
)

// Inputs are those of action.yml.
type Inputs struct {
	ServerURL     string // "" works without a server
	Token         string // for the server
	Project       string // "" is the repository's
	Model         string // "" is the only one there is
	Gates         drift.Gates
	Comment       bool // keep a comment on the pull request
	CommentTitles bool // name memories by title, too
	SARIFFile     string
	GitHubToken   string
}

// Job is what a runner says about its job.
type Job struct {
	Inputs

	Event         string // name, such as push
	Repository    string // owner/name
	Commit        string // that the event is about
	Branch        string // short name; "" for a tag and for a pull request
	DefaultBranch string // "" when the event does not say
	Before        string // of a push, the commit that the branch had; "" when it is new
	Deleted       bool   // the push took the branch away
	Pull          *Pull  // of a pull request

	Workspace string // where the repository is
	Temp      string // folder for files of this job
	APIURL    string // of GitHub
	GitHubURL string // of GitHub, such as https://github.com

	summary, output string // files of the runner
}

// Pull is a pull request.
type Pull struct {
	Number     int
	Head, Base string // commits
	Fork       bool   // its code comes from somewhere else, and nothing secret may meet it
}

// untrusted are events in which a job holds secrets while what it looks at may come from a stranger.
var untrusted = map[string]bool{"pull_request_target": true, "issue_comment": true}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$`)

// payload is the part of an event that matters.
type payload struct {
	Before     string `json:"before"`
	Deleted    bool   `json:"deleted"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	PullRequest *struct {
		Number int  `json:"number"`
		Head   side `json:"head"`
		Base   side `json:"base"`
	} `json:"pull_request"`
}

// side is one end of a pull request.
type side struct {
	SHA  string `json:"sha"`
	Repo *struct {
		FullName string `json:"full_name"`
	} `json:"repo"` // null when the fork was deleted
}

// maxPayload bounds the description of an event, in bytes; GitHub's are at most 25 MB.
const maxPayload = 32 << 20

// ReadJob reads the environment of a job: what the runner sets, and the inputs of action.yml as INPUT_ variables. There is a Job
// beside an error, too: it knows the secrets.
func ReadJob(environment map[string]string) (*Job, error) {
	j := &Job{
		Event: environment["GITHUB_EVENT_NAME"], Repository: environment["GITHUB_REPOSITORY"], Commit: environment["GITHUB_SHA"],
		Workspace: environment["GITHUB_WORKSPACE"], Temp: cmp.Or(environment["RUNNER_TEMP"], os.TempDir()),
		APIURL: cmp.Or(environment["GITHUB_API_URL"], "https://api.github.com"), GitHubURL: cmp.Or(environment["GITHUB_SERVER_URL"], "https://github.com"),
		summary: environment["GITHUB_STEP_SUMMARY"], output: environment["GITHUB_OUTPUT"],
	}
	var err error
	j.Inputs, err = readInputs(environment)
	if j.Event == "" || j.Workspace == "" || !repositoryName.MatchString(j.Repository) {
		return j, problem.Invalidf("", "this is no job of GitHub Actions: GITHUB_EVENT_NAME, GITHUB_REPOSITORY and GITHUB_WORKSPACE do not tell about one").
			Fix("anywhere else, run: stele drift run")
	}
	if err != nil {
		return j, err
	}
	if untrusted[j.Event] {
		return j, problem.Invalidf("on", "the event %s gives secrets to a job that may look at a stranger's code", j.Event).Fix("use: on: pull_request")
	}
	p, err := readPayload(environment["GITHUB_EVENT_PATH"])
	if err != nil {
		return j, err
	}
	j.DefaultBranch, j.Deleted = p.Repository.DefaultBranch, p.Deleted && j.Event == "push"
	if strings.Trim(p.Before, "0") != "" {
		j.Before = p.Before
	}
	if pr := p.PullRequest; pr != nil {
		j.Pull = &Pull{Number: pr.Number, Head: pr.Head.SHA, Base: pr.Base.SHA, Fork: pr.Head.Repo == nil || !strings.EqualFold(pr.Head.Repo.FullName, j.Repository)}
		return j, nil
	}
	if environment["GITHUB_REF_TYPE"] != "tag" {
		j.Branch, _ = strings.CutPrefix(environment["GITHUB_REF"], "refs/heads/")
	}
	return j, nil
}

func readPayload(name string) (payload, error) {
	var p payload
	if name == "" {
		return p, nil // some runners describe no event
	}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxPayload {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(name); err == nil {
			err = json.Unmarshal(text, &p)
		}
	}
	if err != nil {
		return p, problem.New(problem.Unavailable, "GITHUB_EVENT_PATH", "the event cannot be read: "+err.Error()).Because(err)
	}
	return p, nil
}

// readInputs reads the inputs. An empty one is one that was not given.
func readInputs(environment map[string]string) (Inputs, error) {
	in := inputs(environment)
	i := Inputs{
		ServerURL: in.text("server-url"), Token: in.text("token"), Project: in.text("project"), Model: in.text("model"),
		SARIFFile: in.text("sarif-file"), GitHubToken: in.text("github-token"),
	}
	var err error
	for name, gate := range map[string]**int{"min-score": &i.Gates.MinScore, "max-drop": &i.Gates.MaxDrop, "min-coverage": &i.Gates.MinCoverage} {
		if *gate, err = in.number(name); err != nil {
			return i, err
		}
	}
	for name, flag := range map[string]struct {
		value    *bool
		standard bool
	}{
		"fail-on-new": {&i.Gates.FailOnNew, false}, "require-model": {&i.Gates.RequireModel, false},
		"comment": {&i.Comment, true}, "comment-titles": {&i.CommentTitles, false},
	} {
		if *flag.value, err = in.flag(name, flag.standard); err != nil {
			return i, err
		}
	}
	return i, i.Gates.Validate()
}

// inputs finds inputs in an environment.
type inputs map[string]string

// text is an input without the blanks around it. Runners keep the hyphen in the name of its variable; a shell cannot.
func (in inputs) text(name string) string {
	variable := "INPUT_" + strings.ToUpper(name)
	return strings.TrimSpace(cmp.Or(in[strings.ReplaceAll(variable, "-", "_")], in[variable]))
}

func (in inputs) number(name string) (*int, error) {
	text := in.text(name)
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, problem.Invalidf(name, "%q is no whole number", text).Fix("give a number from 0 to 100")
	}
	return &n, nil
}

// flag reads a boolean as YAML 1.2 spells one.
func (in inputs) flag(name string, standard bool) (bool, error) {
	switch text := in.text(name); text {
	case "":
		return standard, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	default:
		return false, problem.Invalidf(name, "%q is neither true nor false", text).Fix("write true or false")
	}
}

// Tracked tells whether the job looks at what a branch is, not at a proposal to change it: what it finds there is a fact about
// that branch. head is the commit that is checked out.
func (j *Job) Tracked(head string) bool {
	switch j.Event {
	case "push", "workflow_dispatch", "schedule":
		return j.Branch != "" && head == j.Commit
	}
	return false
}

// Secrets are the texts that must not appear in a log.
func (j *Job) Secrets() []string { return []string{j.Token, j.GitHubToken} }

// Fork tells whether the job looks at a stranger's code.
func (j *Job) Fork() bool { return j.Pull != nil && j.Pull.Fork }
