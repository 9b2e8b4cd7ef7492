package api

import (
	"context"
	"slices"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/memory"
)

// diagnoses lets admins have the server examine itself, one at a time: it counts whole tables.
type diagnoses struct {
	service Service
	probes  []doctor.Probe
	busy    chan struct{} // holds one while an examination runs
}

func newDiagnoses(o Options) *diagnoses {
	d := &diagnoses{service: o.Service, probes: o.Doctor, busy: make(chan struct{}, 1)}
	if d.probes == nil {
		d.probes = readinessProbes(o.Ready)
	}
	return d
}

// readinessProbes ask what decides whether requests are sent here. Why something fails is in the log of the server.
func readinessProbes(checks []Check) []doctor.Probe {
	probes := []doctor.Probe{}
	for _, c := range checks {
		if c.Name == "keys" {
			continue // those of the organization are asked for
		}
		probes = append(probes, doctor.Probe{ID: c.Name, Name: c.Name, Limit: checkTimeout, Run: func(ctx context.Context) doctor.Finding {
			if err := c.Run(ctx); err != nil {
				return doctor.Failed(err)
			}
			return doctor.Good("it is as it should be")
		}})
	}
	return probes
}

// run examines the server and the organization of a caller, who must be an admin of all of it.
func (d *diagnoses) run(ctx context.Context, c memory.Caller) (doctor.Report, error) {
	if err := c.Diagnoses(); err != nil {
		return doctor.Report{}, err
	}
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return doctor.Report{}, ctx.Err()
	}
	// An organization is asked about once its database is there; what asks about its encoder needs its keys.
	needs := slices.DeleteFunc([]string{"database", "schema"}, func(id string) bool {
		return !slices.ContainsFunc(d.probes, func(p doctor.Probe) bool { return p.ID == id })
	})
	at := slices.IndexFunc(d.probes, func(p doctor.Probe) bool { return slices.Contains(p.Needs, "keys") })
	if at < 0 {
		at = len(d.probes)
	}
	organization := doctor.Organization(func(ctx context.Context) (memory.Health, error) { return d.service.Health(ctx, c) }, time.Now, needs...)
	return doctor.Run(ctx, slices.Concat(d.probes[:at], organization, d.probes[at:])), nil
}
