package web

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/memory"
)

// The chart's own units; the page stretches it to what room there is.
const (
	chartWidth  = 1000.0
	chartHeight = 100.0
	mostScore   = 100
	chartStyles = 4 // kinds of lines that a sheet tells apart
)

// chart is the score of tracked runs over the time of their commits.
type chart struct {
	Series   []series
	From, To time.Time
	Points   int
	Low      int // score at the bottom: a ten well below the lowest, so that small changes show
}

// Middle is the score half way up.
func (c chart) Middle() int { return (c.Low + mostScore) / 2 }

// floorOf is the bottom of a chart whose lowest score is this.
func floorOf(lowest int) int {
	const step = 10
	return max(0, (lowest/step-1)*step)
}

// series is the line of one repository.
type series struct {
	Repository string
	Style      int // 0 to chartStyles-1
	Line       string
	Points     []point // oldest first
}

// point is one run.
type point struct {
	memory.RunSummary

	At   time.Time
	X, Y string
}

// chartOf draws runs; those that compared nothing have no score and are left out.
func chartOf(runs []memory.RunSummary) chart {
	byRepository := map[string][]point{}
	var out chart
	lowest := mostScore
	for _, r := range runs {
		if r.Score == nil {
			continue
		}
		pt := point{RunSummary: r, At: r.CommittedAt}
		if pt.At.IsZero() {
			pt.At = r.ArrivedAt
		}
		if out.Points == 0 || pt.At.Before(out.From) {
			out.From = pt.At
		}
		if out.Points == 0 || pt.At.After(out.To) {
			out.To = pt.At
		}
		out.Points++
		lowest = min(lowest, *r.Score)
		byRepository[r.Repository] = append(byRepository[r.Repository], pt)
	}
	out.Low = floorOf(lowest)
	span := out.To.Sub(out.From)
	repositories := make([]string, 0, len(byRepository))
	for name := range byRepository {
		repositories = append(repositories, name)
	}
	slices.Sort(repositories)
	for i, name := range repositories {
		points := byRepository[name]
		slices.Reverse(points) // they came newest first; of commits of one second the last to arrive stays last
		slices.SortStableFunc(points, func(a, b point) int { return a.At.Compare(b.At) })
		var line strings.Builder
		for k := range points {
			x := chartWidth / 2 // one moment alone
			if span > 0 {
				x = chartWidth * float64(points[k].At.Sub(out.From)) / float64(span)
			}
			points[k].X, points[k].Y = coordinate(x), coordinate(chartHeight*float64(mostScore-*points[k].Score)/float64(mostScore-out.Low))
			if k > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(points[k].X + "," + points[k].Y)
		}
		out.Series = append(out.Series, series{Repository: name, Style: i % chartStyles, Line: line.String(), Points: points})
	}
	return out
}

func coordinate(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
