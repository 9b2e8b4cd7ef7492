package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stele-dev/stele/memory/index"
)

// metrics are what Prometheus scrapes: counts and times by route, never by tenant, user or text.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refusals *prometheus.CounterVec
}

func newMetrics(version string, further []prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stele_http_requests_total", Help: "Requests answered."},
			[]string{"method", "route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "stele_http_request_seconds", Help: "Time to answer a request, streams included.",
			Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "stele_http_requests_in_flight", Help: "Requests being answered, streams included."}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stele_refused_total", Help: "Requests refused before a door: no_token, wrong_token, too_many, busy."},
			[]string{"reason"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "stele_build_info", Help: "Always 1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.took, m.inFlight, m.refusals, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(further...)
	return m
}

func (m *metrics) begin() { m.inFlight.Inc() }

func (m *metrics) end(method, route string, status int, took time.Duration) {
	m.inFlight.Dec()
	if route == "" {
		route = "none" // whatever was asked for: names that others choose must not become labels
		method = "any"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.took.WithLabelValues(route).Observe(took.Seconds())
}

func (m *metrics) refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// IndexMetrics tells what recall is answered from.
func IndexMetrics(stats func() index.Stats) []prometheus.Collector {
	gauge := func(name, help string, value func(index.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	counter := func(name, help string, value func(index.Stats) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return value(stats()) })
	}
	return []prometheus.Collector{
		gauge("stele_index_bytes", "Memory that the indexes of recall take in this process.", func(s index.Stats) float64 { return float64(s.Bytes) }),
		gauge("stele_index_spaces", "Spaces held in them.", func(s index.Stats) float64 { return float64(s.Spaces) }),
		gauge("stele_index_memories", "Memories held in them.", func(s index.Stats) float64 { return float64(s.Memories) }),
		counter("stele_index_hits_total", "Searches answered from them.", func(s index.Stats) float64 { return float64(s.Hits) }),
		counter("stele_index_misses_total", "Searches answered by the database alone.", func(s index.Stats) float64 { return float64(s.Misses) }),
	}
}

// PoolMetrics tells how busy a pool of database connections is.
func PoolMetrics(stat func() *pgxpool.Stat) []prometheus.Collector {
	gauge := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(stat()) })
	}
	counter := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return value(stat()) })
	}
	return []prometheus.Collector{
		gauge("stele_db_connections", "Connections open.", func(s *pgxpool.Stat) float64 { return float64(s.TotalConns()) }),
		gauge("stele_db_connections_used", "Connections in use.", func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }),
		gauge("stele_db_connections_max", "Connections there may be.", func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
		counter("stele_db_waits_total", "Times a connection had to be waited for.", func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
		counter("stele_db_wait_seconds_total", "Time waited for connections.", func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }),
	}
}
