package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// imports stores the documents of a file of JSON lines by `sectional import`, its start included, beside _bulk_docs of the same
// documents in prebuilt requests.
func (b *bench) imports(ctx context.Context) (err error) {
	s, _, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	file := filepath.Join(b.dir, "import.jsonl")
	if err := importFile(file, b.documents); err != nil {
		return err
	}
	f := figure{name: fmt.Sprintf("sectional import of %d documents of 1 KB", b.documents), unit: "documents/s", ceiling: "_bulk_docs of 500", goal: 0.5}
	for n := range b.repetitions {
		bulk, err := b.fill(s, fmt.Sprint("bulk", n), b.documents/500, withID)
		if err != nil {
			return err
		}
		c := exec.CommandContext(ctx, process.Binary(), "import", s.Base+fmt.Sprint("/import", n), file, "--create", "--partitioned")
		c.Env = append(os.Environ(), "SECTIONAL_USER="+process.User, "SECTIONAL_PASSWORD="+process.Password)
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		f.add(float64(b.documents)/time.Since(began).Seconds(), bulk.rate()*500, c.ProcessState.UserTime().Seconds()/float64(b.documents))
	}
	b.report.figures = append(b.report.figures, f)
	return nil
}

// importFile writes so many documents, one in each line.
func importFile(path string, documents int) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	for n := range documents {
		if _, err := w.Write(append(withID(n), '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}
