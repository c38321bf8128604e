// Package dashboard owns the files of the dashboard as they are served: built by Vite from the sources in
// dashboard/ at the top of the repository, committed, and embedded, so that `go build` alone gives the binary all of
// it; and the pages of the documentation in one file, for its Help. Begin with Find.
//
// How to change it is in dashboard/README.md; a test fails when the files are older than their sources.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/sectional/sectional/docs"
	"github.com/sectional/sectional/internal/dberr"
)

//go:embed dist
var dist embed.FS

// Policy is the Content-Security-Policy of the dashboard's page: scripts, styles and requests of this server alone,
// images also of what a page made itself. Nothing may show the page in a frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Index is the name of the page.
const Index = "index.html"

// types are the media types of the files, whatever the system's tables say.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

// File is a file of the dashboard. It is not changed.
type File struct {
	Body   []byte
	Gzip   []byte // Body compressed; nil where that is no smaller
	Type   string // the media type
	ETag   string // quoted
	Hashed bool   // the name holds a hash of the content, which therefore never changes
}

// Help is the name of the file with all pages of the documentation: an object of Markdown by the pages' names.
const Help = "help.json"

// Find returns the file of a name, such as index.html or assets/index-….js, and nil if there is none. Errors:
// Internal, if the embedded files can't be read.
func Find(name string) (*File, error) {
	all, err := files()
	if err != nil || all[name] == nil {
		return nil, err
	}
	f, err := all[name]()
	return f, dberr.Wrap("dashboard.Find", err)
}

// files are all files by name. Each is compressed when it is asked for first: who comes for the page does not wait for
// the editor and the documentation, which are most of all bytes.
var files = sync.OnceValues(func() (map[string]func() (*File, error), error) {
	all := map[string]func() (*File, error){Help: sync.OnceValues(help)}
	err := fs.WalkDir(dist, "dist", func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimPrefix(at, "dist/")
		all[name] = sync.OnceValues(func() (*File, error) {
			body, err := dist.ReadFile(at)
			if err != nil {
				return nil, err
			}
			return newFile(name, body)
		})
		return nil
	})
	return all, dberr.Wrap("dashboard.files", err)
})

// help makes the file of the documentation.
func help() (*File, error) {
	pages := map[string]string{}
	err := fs.WalkDir(docs.Pages, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := docs.Pages.ReadFile(name)
		pages[name] = string(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(pages)
	if err != nil {
		return nil, err
	}
	return newFile(Help, body)
}

func newFile(name string, body []byte) (*File, error) {
	sum := sha256.Sum256(body)
	f := &File{Body: body, Type: types[path.Ext(name)], ETag: `"` + hex.EncodeToString(sum[:16]) + `"`, Hashed: strings.HasPrefix(name, "assets/")}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = z.Write(body); err == nil {
		err = z.Close()
	}
	if b.Len() < len(body) {
		f.Gzip = b.Bytes()
	}
	return f, err
}
