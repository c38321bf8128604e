package migrate

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/jsonstream"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/progress"
)

// Preview is what a migration would make of a source, found by reading it.
type Preview struct {
	By        string
	Documents uint64
	Design    int // design documents, which are in no partition
	Prefixed  int // of the sample, documents whose ids begin with their partition already
	// Default is the partition that documents get which have none by the key; "" if they get none. Defaulted is how many of
	// the sample those are, and DefaultExamples are some of them.
	Default         document.Partition `json:",omitempty"`
	Defaulted       int
	DefaultExamples []partitionkey.Unfit `json:",omitempty"`
	Report          partitionkey.Report
}

// sample bounds how many documents are held against the template: of a larger source each is with the same probability.
const sample = 1_000_000

// See reads a source and says what the mapping would make of it. Errors: those of the client.
func (m *Mapping) See(ctx context.Context, source *couchclient.Client, line *progress.Line) (*Preview, error) {
	var info struct {
		Documents uint64 `json:"doc_count"`
	}
	if err := source.JSON(ctx, http.MethodGet, "", nil, &info); err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	a, err := source.Ask(ctx, couchclient.Request{Method: http.MethodGet, Path: "/_changes?include_docs=true"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Body.Close() }()
	v := &Preview{By: m.By.String(), Default: m.Default}
	survey := partitionkey.NewSurvey(m.By)
	err = jsonstream.New(a.Body).Object("results", func(raw []byte) error {
		id, ok := textOf(raw, "id")
		if !valid(raw) || !ok {
			return jsonstream.ErrForm
		}
		_, deleted := jsonscan.Member(raw, "deleted")
		switch {
		case deleted:
			return nil
		case strings.HasPrefix(id, designPrefix):
			v.Design++
			return nil
		}
		if v.Documents++; v.Documents%1000 == 0 {
			line.Show("%d documents of %d", v.Documents, info.Documents)
		}
		doc, _ := jsonscan.Member(raw, "doc")
		if info.Documents <= sample || rand.Uint64N(info.Documents) < sample {
			v.add(m, survey, id, doc)
		}
		return nil
	}, func(string, []byte) error { return nil })
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	v.Report = survey.Report(v.Documents)
	return v, nil
}

// add takes a document of the sample. The feed is in the order of the latest writes.
func (v *Preview) add(m *Mapping, survey *partitionkey.Survey, id string, doc []byte) {
	var p document.Partition
	why := "the source does not show it"
	if jsonscan.KindOf(doc) == jsonscan.Object {
		p, why = m.partition(id, doc)
	}
	if why != "" {
		survey.AddUnfit(id, why)
		return
	}
	if _, why := m.By.Partition(id, doc); why != "" {
		if v.Defaulted++; len(v.DefaultExamples) < shownDefaults {
			v.DefaultExamples = append(v.DefaultExamples, partitionkey.Unfit{ID: id, Why: why})
		}
	}
	if strings.HasPrefix(id, string(p)+":") {
		v.Prefixed++
	}
	survey.AddTo(p, len(doc), v.Documents)
}

// shownDefaults is how many documents of the default partition a preview names.
const shownDefaults = 5

// barWidth is that of the longest bar, in characters.
const barWidth = 40

// Print writes the preview for people.
func (v *Preview) Print(w io.Writer, keepIDs bool) error {
	r := &v.Report
	var b strings.Builder
	progress.Fprintf(&b, "%d documents by %s: %.0f partitions\n", v.Documents, v.By, r.Estimated)
	if len(r.Histogram) > 0 {
		progress.Fprintf(&b, "\n%25s  %10s  %s\n", "documents in a partition", "partitions", "part of all documents")
	}
	for _, bar := range r.Histogram {
		progress.Fprintf(&b, "%11.0f to %10.0f  %10d  %3.0f %% %s\n", bar.From, bar.To-1, bar.Partitions, 100*bar.Part, strings.Repeat("#", int(bar.Part*barWidth+0.5)))
	}
	if len(r.Largest) > 0 {
		progress.Fprintf(&b, "\nthe largest\n")
	}
	for _, s := range r.Largest[:min(len(r.Largest), 5)] {
		progress.Fprintf(&b, "%25s  %10.0f  %3.0f %%\n", s.Partition, s.Documents, 100*s.Part)
	}
	b.WriteString("\n")
	for _, note := range v.notes(keepIDs) {
		progress.Fprintf(&b, "%s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// whole says how many documents there are of which the sample has some.
func (v *Preview) whole(n int) string {
	about := ""
	if uint64(v.Report.Sampled) < v.Documents {
		about = "about "
		n = int(float64(n) * float64(v.Documents) / float64(v.Report.Sampled))
	}
	if n == 1 {
		return about + "1 document is"
	}
	return fmt.Sprintf("%s%d documents are", about, n)
}

// notes are warnings, and what else is to be known.
func (v *Preview) notes(keepIDs bool) (notes []string) {
	for _, w := range v.Report.Warnings {
		notes = append(notes, "warning: "+w.Text)
	}
	if n := v.Report.Unfit; n > 0 {
		notes = append(notes, fmt.Sprintf("%s without a partition, and will be refused", v.whole(n)))
	}
	for _, e := range v.Report.Examples {
		notes = append(notes, fmt.Sprintf("without a partition: %s: %s", e.ID, e.Why))
	}
	if v.Defaulted > 0 {
		notes = append(notes, fmt.Sprintf("%s in the partition %s by --default: this key gives none", v.whole(v.Defaulted), v.Default))
	}
	for _, e := range v.DefaultExamples {
		notes = append(notes, fmt.Sprintf("by --default: %s: %s", e.ID, e.Why))
	}
	if v.Prefixed > 0 && !keepIDs {
		notes = append(notes, fmt.Sprintf("%d ids begin with their partition already, and get it once more: --keep-ids keeps them", v.Prefixed))
	}
	if v.Design > 0 {
		notes = append(notes, fmt.Sprintf("%d design documents keep their ids, and ask the whole database", v.Design))
	}
	if len(notes) == 0 {
		notes = append(notes, "nothing speaks against this key")
	}
	return notes
}
