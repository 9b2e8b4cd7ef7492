package diagram

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Nothing covers anything else, a frame holds its band and nothing of another, and lines end where their boxes are.
func TestNothingCoversAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "boxes")
		boxes := make([]box, n)
		framed := rapid.Bool().Draw(t, "framed")
		for i := range boxes {
			boxes[i] = box{w: rapid.Float64Range(50, 300).Draw(t, "w"), h: rapid.Float64Range(40, 200).Draw(t, "h")}
			if framed {
				boxes[i].band = rapid.IntRange(0, 2).Draw(t, "band")
			}
		}
		inner := noBand
		if framed {
			inner = bandInside
		}
		var links []link
		seen := map[[2]int]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "links") {
			l := link{from: rapid.IntRange(0, n-1).Draw(t, "from"), to: rapid.IntRange(0, n-1).Draw(t, "to")}
			if l.bundled = rapid.Bool().Draw(t, "bundled"); !l.bundled {
				l.w, l.h = rapid.Float64Range(10, 150).Draw(t, "label"), 32
			}
			if l.from != l.to && !seen[[2]int{l.from, l.to}] {
				seen[[2]int{l.from, l.to}] = true
				links = append(links, l)
			}
		}
		p := arrange(boxes, links, inner)
		const little = 0.01
		all := slices.Clone(p.boxes)
		for k, l := range links {
			if !l.bundled {
				all = append(all, rect{p.labels[k].x - l.w/2, p.labels[k].y - l.h/2, l.w, l.h})
			}
		}
		for i, a := range all {
			if a.x < -little || a.y < -little || a.x+a.w > p.w+little || a.y+a.h > p.h+little {
				t.Fatalf("%v is outside of %v × %v", a, p.w, p.h)
			}
			for _, b := range all[i+1:] {
				if a.x+a.w > b.x+little && b.x+b.w > a.x+little && a.y+a.h > b.y+little && b.y+b.h > a.y+little {
					t.Fatalf("%v covers %v", a, b)
				}
			}
		}
		for i, b := range p.boxes {
			within := b.y >= p.bounds.y && b.y+b.h <= p.bounds.y+p.bounds.h
			if framed && p.bounds.w > 0 && within != (boxes[i].band == inner) {
				t.Fatalf("box %d of band %d and the frame %v: %v", i, boxes[i].band, p.bounds, b)
			}
		}
		for k, l := range links {
			path := p.paths[k]
			for _, end := range []struct {
				at  point
				box rect
			}{{path[0], p.boxes[l.from]}, {path[len(path)-1], p.boxes[l.to]}} {
				if end.at.x < end.box.x-little || end.at.x > end.box.x+end.box.w+little || end.at.y != end.box.y && end.at.y != end.box.y+end.box.h {
					t.Fatalf("link %d ends at %v, its box is %v", k, end.at, end.box)
				}
			}
		}
	})
}

func TestLinesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcW i.漢é—🙂")), 0, 200, -1).Draw(t, "text")
		most := rapid.IntRange(1, 4).Draw(t, "lines")
		lines := wrap(text, smallSize, 120, most)
		if len(lines) > most {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for _, l := range lines {
			if textWidth(l, smallSize) > 120 {
				t.Fatalf("%q is %f wide", l, textWidth(l, smallSize))
			}
		}
		squeezed := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if whole := squeezed(strings.Join(lines, "")); whole != squeezed(text) && !strings.HasSuffix(whole, "…") {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}
