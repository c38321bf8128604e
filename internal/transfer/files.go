package transfer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/docfile"
	"github.com/sectional/sectional/internal/table"
)

// Files says how files are read.
type Files struct {
	Format string // "": by name and content
	CSV    docfile.CSVOptions
	In     io.Reader // what "-" stands for
}

// data is a file of an import.
type data struct {
	path  string
	items int64  // what a manifest says of it; -1: nothing
	sum   string // MD5 in base64; "": not known
}

// Run stores the documents of files, one file after the other. Errors: those of Import.Run; a file that is not what the
// manifest of its export says.
func (f *Files) Run(ctx context.Context, m *Import, paths []string) (all Imported, err error) {
	files, err := f.list(paths)
	if err != nil {
		return all, err
	}
	var of *table.Definition
	if of, err = definition(ctx, m.Target); err != nil {
		return all, err
	}
	for _, file := range files {
		did, err := f.one(ctx, m, file, of)
		all.Read, all.Written, all.Unchanged = all.Read+did.Read, all.Written+did.Written, all.Unchanged+did.Unchanged
		all.Kept, all.Rejected, all.Through = all.Kept+did.Kept, all.Rejected+did.Rejected, did.Through
		if err != nil && len(files) > 1 {
			err = fmt.Errorf("%s: %w", file.path, err)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// definition returns the definition of a target that is a table of the DynamoDB API; nil for one that is not.
func definition(ctx context.Context, target *couchclient.Client) (*table.Definition, error) {
	raw, _, err := target.Whole(ctx, couchclient.Request{Method: http.MethodGet, Path: "/" + string(table.DesignID)})
	if s := couchclient.StatusOf(err); s == http.StatusNotFound || s == http.StatusForbidden || s == http.StatusBadRequest {
		// There is none. A database that is not there, or is not for us, is told by the first that is written.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return table.Parse(raw)
}

// list returns the files of paths: a directory is an export of DynamoDB.
func (f *Files) list(paths []string) (files []data, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case p == "-" || err == nil && !info.IsDir():
			files = append(files, data{p, -1, ""})
		case err != nil:
			return nil, err
		default:
			exported, err := exportedTo(p)
			if err != nil {
				return nil, err
			}
			files = append(files, exported...)
			f.Format = docfile.FormatItems
		}
	}
	return files, nil
}

// exportedTo returns the data files of an export of DynamoDB in a directory: those that its manifest names, or all in
// data/.
func exportedTo(dir string) ([]data, error) {
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest-files.json"))
	if errors.Is(err, os.ErrNotExist) {
		paths, err := filepath.Glob(filepath.Join(dir, "data", "*"))
		if err == nil && len(paths) == 0 {
			paths, err = filepath.Glob(filepath.Join(dir, "*.json.gz"))
		}
		if err == nil && len(paths) == 0 {
			err = fmt.Errorf("%s is not an export of DynamoDB: there is neither manifest-files.json nor data", dir)
		}
		files := []data{}
		for _, p := range paths {
			files = append(files, data{p, -1, ""})
		}
		return files, err
	}
	if err != nil {
		return nil, err
	}
	var files []data
	for n, line := range bytes.Split(manifest, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var one struct {
			Items int64  `json:"itemCount"`
			Sum   string `json:"md5Checksum"`
			Key   string `json:"dataFileS3Key"`
		}
		if json.Unmarshal(line, &one) != nil || one.Key == "" {
			return nil, fmt.Errorf("manifest-files.json:%d names no file", n+1)
		}
		if strings.HasSuffix(strings.TrimSuffix(one.Key, ".gz"), ".ion") {
			return nil, errors.New("the export is in Amazon Ion: only DynamoDB JSON can be read")
		}
		files = append(files, data{filepath.Join(dir, "data", path.Base(one.Key)), one.Items, one.Sum})
	}
	slices.SortFunc(files, func(a, b data) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// counted counts the bytes that were read of a file, and sums them.
type counted struct {
	from io.Reader
	n    atomic.Int64
	sum  hash.Hash
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	_, _ = c.sum.Write(p[:n]) // a hash takes everything
	return n, err
}

// one stores the documents of one file.
func (f *Files) one(ctx context.Context, m *Import, file data, of *table.Definition) (did Imported, err error) {
	from := f.In
	one := *m
	if file.path != "-" {
		opened, err := os.Open(file.path)
		if err != nil {
			return did, err
		}
		defer func() { _ = opened.Close() }()
		if info, err := opened.Stat(); err == nil && info.Mode().IsRegular() {
			one.Size = info.Size()
		}
		from = opened
	}
	raw := &counted{from: from, sum: md5.New()}
	one.Read = raw.n.Load
	in, err := docfile.Unpacked(raw)
	if err != nil {
		return did, fmt.Errorf("it can't be unpacked: %w", err)
	}
	reader, end, err := f.reader(file.path, in, of)
	if err != nil {
		return did, err
	}
	did, err = one.Run(ctx, reader)
	end()
	if err != nil || file.items < 0 {
		return did, err
	}
	return did, file.check(raw, did)
}

// check holds a file that was read to its end against its manifest.
func (d data) check(raw *counted, did Imported) error {
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return err
	}
	if sum := base64.StdEncoding.EncodeToString(raw.sum.Sum(nil)); d.sum != "" && sum != d.sum {
		return fmt.Errorf("the file is not the one of the manifest: its MD5 is %s, not %s", sum, d.sum)
	}
	if did.Read != d.items {
		return fmt.Errorf("%d items were in it, and the manifest says %d", did.Read, d.items)
	}
	return nil
}

// reader returns what reads a file, and what is to be called when it was read.
func (f *Files) reader(name string, in io.Reader, of *table.Definition) (docfile.Reader, func(), error) {
	b := bufio.NewReaderSize(in, 256<<10)
	format := f.Format
	if format == "" {
		format = docfile.Detect(name, b)
	}
	switch format {
	case docfile.FormatCSV:
		o := f.CSV
		if o.Comma == 0 && strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".tsv") {
			o.Comma = '\t'
		}
		r, err := docfile.CSV(b, o)
		return r, func() {}, err
	case docfile.FormatItems:
		return docfile.DynamoDB(b, of), func() {}, nil
	case docfile.FormatJSON:
		r := docfile.JSON(b)
		return r, func() { _ = r.Close() }, nil
	}
	return docfile.JSONLines(b), func() {}, nil
}
