package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/webhook"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// digestElection is the number of the election of the server that sends digests. It is not that of the upkeep, which any process
// with the database may win, also one that was told nothing of digests.
const digestElection int32 = 2

// Sending one digest: an address that is away for a moment is tried again, one that is away for good waits for the next time.
const (
	digestTries = 3
	digestPause = 5 * time.Second // before the second try; half as long again before the third
)

// digests posts how the knowledge of each project stands, by schedule.
type digests struct {
	b        *backend
	schedule cron.Schedule
	to       *webhook.Sender
	pause    time.Duration
	log      *slog.Logger
}

// newDigests reads the settings; nil when no digests are to be sent.
func newDigests(b *backend, c config.Config, log *slog.Logger) (*digests, error) {
	if c.DigestSchedule == "" {
		return nil, nil //nolint:nilnil // nobody asked for digests, and that is no error
	}
	schedule, err := cron.ParseStandard(c.DigestSchedule)
	if err != nil {
		return nil, problem.Invalidf("STELE_DIGEST_SCHEDULE", "%q is no cron expression", short(c.DigestSchedule, 80)).
			Fix("give five fields, such as 0 8 * * 1 for Mondays at eight, UTC").Because(err)
	}
	if c.DigestURL == "" {
		return nil, problem.Invalidf("STELE_DIGEST_URL", "STELE_DIGEST_SCHEDULE says when digests are sent, and nothing says where").
			Fix("set it to a webhook, or unset STELE_DIGEST_SCHEDULE; stele review digest prints one")
	}
	to, err := webhook.New(webhook.Options{URL: c.DigestURL, Secret: c.DigestSecret, AllowPrivate: c.DigestAllowPrivate, Program: "stele/" + thisBuild().Version})
	if err != nil {
		return nil, asDigestSetting(err)
	}
	return &digests{b: b, schedule: schedule, to: to, pause: digestPause, log: log}, nil
}

// asDigestSetting names the setting that a problem of the webhook is about.
func asDigestSetting(err error) error {
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	told := *p
	switch p.Field {
	case "url":
		told.Field = "STELE_DIGEST_URL"
		told.Fixes = append([]string{}, p.Fixes...)
		if errors.Is(err, webhook.ErrPrivate) {
			told.Fixes = append(told.Fixes, "STELE_DIGEST_ALLOW_PRIVATE=true allows it")
		}
	case "secret":
		told.Field = "STELE_DIGEST_SECRET"
	}
	return &told
}

// elected sends digests while this server is the one of all to do it, until ctx is done.
func (d *digests) elected(ctx context.Context) {
	defer d.to.Close()
	d.b.db.Elect(ctx, postgres.Election{ID: digestElection, Name: "digests", Log: d.log, Work: d.work})
}

// work sends digests by schedule until ctx is done. A time that no server was elected at is left out: a digest is no alarm.
func (d *digests) work(ctx context.Context) error {
	jobs := cron.New(cron.WithLocation(time.UTC), cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)))
	jobs.Schedule(d.schedule, cron.FuncJob(func() { d.send(ctx, time.Now().UTC()) }))
	jobs.Start()
	<-ctx.Done()
	<-jobs.Stop().Done()
	return nil
}

// send posts the digest of every project. What fails in one holds no other up.
func (d *digests) send(ctx context.Context, at time.Time) {
	orgs, err := d.b.store.OrganizationIDs(ctx)
	if err != nil {
		d.log.WarnContext(ctx, "digests cannot list the organizations", "error", err)
	}
	since := d.before(at)
	for _, org := range orgs {
		err := survive(ctx, org, func(ctx context.Context, org uuid.UUID) error {
			c := memory.Caller{Org: org, User: "stele", Role: memory.RoleAdmin, Door: memory.FromAPI}
			projects, err := d.b.local.Projects(ctx, c)
			if err != nil {
				return err
			}
			for _, p := range projects {
				if err := d.sendOne(ctx, c, p, since, at); err != nil {
					d.log.WarnContext(ctx, "a digest could not be sent", "organization", org, "project", p.ID, "to", d.to.Host(), "error", asDigestSetting(err))
				}
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "digests failed", "organization", org, "error", err)
		}
	}
}

// longestDigest bounds what a digest looks back on.
const longestDigest = 31 * 24 * time.Hour

// before gives the time of the schedule before the one that is now.
func (d *digests) before(now time.Time) time.Time {
	now = now.Truncate(time.Minute)
	last := now.Add(-longestDigest)
	for next := d.schedule.Next(last); !next.IsZero() && next.Before(now); next = d.schedule.Next(next) {
		last = next
	}
	return last
}

// digestMessage is what is posted: the members of Standard Webhooks, and the text where chat services look for one.
type digestMessage struct {
	Type      string        `json:"type"`
	Timestamp time.Time     `json:"timestamp"`
	Project   string        `json:"project"` // its name
	Text      string        `json:"text"`
	Data      review.Digest `json:"data"`
}

// sendOne posts the digest of a project, unless there is nothing to tell.
func (d *digests) sendOne(ctx context.Context, c memory.Caller, p memory.ProjectInfo, since, at time.Time) error {
	c.Project = p.ID
	digest, err := d.b.domain.ReviewDigest(ctx, c, review.DigestRequest{Since: since})
	if err != nil {
		return err
	}
	if digest.Elements == 0 && digest.Written == 0 && len(digest.Causes) == 0 {
		return nil // nobody works with this project
	}
	body, err := json.Marshal(digestMessage{Type: "review.digest", Timestamp: at, Project: p.Name, Text: "# " + memory.Line(p.Name) + "\n\n" + digest.Markdown, Data: digest})
	if err != nil {
		return fmt.Errorf("encoding the digest: %w", err)
	}
	// The same for every server that might send it: who gets it twice can tell.
	id := fmt.Sprintf("digest-%s-%d", c.Project, at.Truncate(time.Minute).Unix())
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		err := d.to.Send(ctx, id, body)
		if err != nil && !problem.Is(err, problem.Unavailable) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxTries(digestTries), backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: d.pause, Multiplier: 1.5, MaxInterval: 2 * d.pause}))
	if err == nil {
		d.log.InfoContext(ctx, "sent a digest", "organization", c.Org, "project", c.Project, "to", d.to.Host())
	}
	return err
}
