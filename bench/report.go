package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// figure is one measured rate and what it is held to.
type figure struct {
	name    string
	unit    string
	ceiling string  // what it is measured beside; empty for nothing
	goal    float64 // the least ratio to the ceiling
	couchdb float64 // CouchDB 3.5.2 on two cores; 0 where not known
	factor  float64 // the least multiple of CouchDB's rate; 0 for none
	least   float64 // the least rate of ours; 0 for none

	ours, theirs, ratios, cpu []float64
	trips                     []float64 // round trips to the storage for an operation, where they are counted
}

// add notes one repetition: our rate, the ceiling's in the same minute, and processor seconds of one operation.
func (f *figure) add(ours, theirs, cpu float64) {
	f.ours, f.theirs, f.cpu = append(f.ours, ours), append(f.theirs, theirs), append(f.cpu, cpu)
	if theirs > 0 {
		f.ratios = append(f.ratios, ours/theirs)
	}
}

// verdict says whether the figure reaches what it is held to.
func (f *figure) verdict() string {
	switch {
	case f.ceiling != "" && median(f.ratios) < f.goal, f.factor > 0 && median(f.ours) < f.factor*f.couchdb, median(f.ours) < f.least:
		return "short"
	case f.ceiling == "" && f.factor == 0 && f.least == 0:
		return ""
	}
	return "reached"
}

// resource is a measured amount with its upper bound.
type resource struct {
	name   string
	amount float64
	unit   string
	max    float64
}

// report gathers what a run measured.
type report struct {
	figures   []figure
	resources []resource
	notes     []string
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// print writes the tables.
func (r *report) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "measured\trate\tunit\tbeside\tits rate\tratio\tgoal\tCouchDB\ttimes\tCPU µs/op\ttrips/op\t")
	for _, f := range r.figures {
		fmt.Fprintf(t, "%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%s\t%s\n", f.name, median(f.ours), f.unit, f.ceiling,
			known("%.0f", median(f.theirs)), known("%.2f", median(f.ratios)), known("%.2f", f.goal),
			known("%.0f", f.couchdb), f.times(), median(f.cpu)*1e6, known("%.2f", median(f.trips)), f.verdict())
	}
	fmt.Fprintln(t, "\t\t\t\t\t\t\t\t\t\t\t")
	for _, m := range r.resources {
		verdict := "reached"
		if m.amount > m.max {
			verdict = "short"
		}
		fmt.Fprintf(t, "%s\t%.2f\t%s\tat most %.1f\t\t\t\t\t\t\t\t%s\n", m.name, m.amount, m.unit, m.max, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range r.notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

// times is the multiple of CouchDB's rate, with the least one that is wanted.
func (f *figure) times() string {
	if f.couchdb == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f", median(f.ours)/f.couchdb)
	if f.factor > 0 {
		text += fmt.Sprintf(" (≥ %.0f)", f.factor)
	}
	return text
}

// known formats a number, or nothing where there is none.
func known(format string, value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf(format, value)
}
