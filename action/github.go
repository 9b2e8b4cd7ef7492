package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/stele-dev/stele/internal/loopback"
	"github.com/stele-dev/stele/internal/problem"
)

// api is GitHub, asked with the token of the job.
type api struct {
	client      *github.Client
	owner, name string
}

// apiTimeout bounds one request; the answers are short.
const apiTimeout = 30 * time.Second

// newAPI makes the client; nothing is sent.
func newAPI(job *Job) (*api, error) {
	base, err := url.Parse(strings.TrimSuffix(job.APIURL, "/") + "/")
	if err != nil || base.Scheme != "https" && !loopback.Is(base.Hostname()) {
		return nil, problem.Invalidf("GITHUB_API_URL", "it is no https address")
	}
	a := &api{client: github.NewClient(&http.Client{
		Timeout: apiTimeout,
		// Whoever answers with an address elsewhere does not get the token.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Host != via[0].URL.Host || len(via) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}).WithAuthToken(job.GitHubToken)}
	a.client.BaseURL, a.client.UserAgent = base, "stele"
	a.owner, a.name, _ = strings.Cut(job.Repository, "/")
	return a, nil
}

// robot is whose comments the token of a job writes. Such a token may not ask who it is.
const robot = "github-actions[bot]"

// self is the login that comments are written as.
func (a *api) self(ctx context.Context) string {
	if user, _, err := a.client.Users.Get(ctx, ""); err == nil && user.GetLogin() != "" {
		return user.GetLogin()
	}
	return robot
}

// keepComment makes the pull request have one comment that begins with marker, with that body; none for "". Only comments of
// this very author count: anybody can write the marker.
func (a *api) keepComment(ctx context.Context, number int, marker, body string) error {
	own, err := a.comments(ctx, number, marker)
	if err != nil {
		return fmt.Errorf("reading the comments: %w", err)
	}
	if body != "" && len(own) > 0 {
		first := own[0]
		own = own[1:]
		if first.GetBody() != body {
			if _, _, err = a.client.Issues.EditComment(ctx, a.owner, a.name, first.GetID(), &github.IssueComment{Body: &body}); gone(err) {
				own, err = nil, a.comment(ctx, number, body) // somebody deleted it meanwhile
			}
		}
	} else if body != "" {
		err = a.comment(ctx, number, body)
	}
	if err != nil {
		return fmt.Errorf("writing the comment: %w", err)
	}
	for _, c := range own {
		if _, err := a.client.Issues.DeleteComment(ctx, a.owner, a.name, c.GetID()); err != nil && !gone(err) {
			return fmt.Errorf("deleting the comment: %w", err)
		}
	}
	return nil
}

func (a *api) comment(ctx context.Context, number int, body string) error {
	_, _, err := a.client.Issues.CreateComment(ctx, a.owner, a.name, number, &github.IssueComment{Body: &body})
	return err
}

// comments reads every page of the comments and keeps the author's own that begin with marker, oldest first.
func (a *api) comments(ctx context.Context, number int, marker string) ([]*github.IssueComment, error) {
	const page, most = 100, 100 // 10,000 comments
	var marked []*github.IssueComment
	o := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: page}}
	for range most {
		list, resp, err := a.client.Issues.ListComments(ctx, a.owner, a.name, number, o)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if first, _, _ := strings.Cut(c.GetBody(), "\n"); strings.TrimSpace(first) == marker {
				marked = append(marked, c)
			}
		}
		if o.Page = resp.NextPage; o.Page == 0 {
			break
		}
	}
	if len(marked) == 0 {
		return nil, nil
	}
	self := a.self(ctx)
	var own []*github.IssueComment
	for _, c := range marked {
		if strings.EqualFold(c.GetUser().GetLogin(), self) {
			own = append(own, c)
		}
	}
	return own, nil
}

// checkName is that of the check run, and what branch protection refers to.
const checkName = "Stele drift"

// check makes a check run at a commit.
func (a *api) check(ctx context.Context, commit, conclusion, title, summary string) error {
	status := "completed"
	_, _, err := a.client.Checks.CreateCheckRun(ctx, a.owner, a.name, github.CreateCheckRunOptions{
		Name: checkName, HeadSHA: commit, Status: &status, Conclusion: &conclusion, Output: &github.CheckRunOutput{Title: &title, Summary: &summary},
	})
	return err
}

func statusOf(err error) int {
	if answer, ok := errors.AsType[*github.ErrorResponse](err); ok && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

func gone(err error) bool { return statusOf(err) == http.StatusNotFound }

// refused tells whether the token lacks a permission.
func refused(err error) bool {
	s := statusOf(err)
	return s == http.StatusForbidden || s == http.StatusUnauthorized || s == http.StatusNotFound
}

// explain says what GitHub's answer means for whoever keeps the workflow.
func explain(err error, permission string) string {
	var limited *github.RateLimitError
	var abused *github.AbuseRateLimitError
	switch {
	case errors.As(err, &limited):
		return "the token's rate limit is used up until " + limited.Rate.Reset.UTC().Format(time.TimeOnly) + " UTC"
	case errors.As(err, &abused):
		return "GitHub wants fewer requests at once; run the job again later"
	case refused(err):
		return fmt.Sprintf("GitHub answered %d; give the job the permission %s", statusOf(err), permission)
	case statusOf(err) != 0:
		return fmt.Sprintf("GitHub answered %d", statusOf(err))
	case errors.Is(err, context.DeadlineExceeded):
		return "GitHub did not answer in time"
	}
	return "GitHub could not be reached"
}
