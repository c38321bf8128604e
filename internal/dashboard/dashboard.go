// Package dashboard owns the files of the dashboard as they are served: built by Vite from the sources in
// dashboard/ at the top of the repository, committed, and embedded, so that `go build` alone gives the binary all of
// it. Begin with Find.
//
// How to change it is in dashboard/README.md; a test fails when the files are older than their sources.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"sync"

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
}

// File is a file of the dashboard. It is not changed.
type File struct {
	Body   []byte
	Gzip   []byte // Body compressed; nil where that is no smaller
	Type   string // the media type
	ETag   string // quoted
	Hashed bool   // the name holds a hash of the content, which therefore never changes
}

// Find returns the file of a name, such as index.html or assets/index-….js, and nil if there is none. Errors:
// Internal, if the embedded files can't be read.
func Find(name string) (*File, error) {
	all, err := files()
	return all[name], err
}

// files are all files by name, compressed when the first is asked for.
var files = sync.OnceValues(func() (map[string]*File, error) {
	const op = "dashboard.files"
	all := map[string]*File{}
	err := fs.WalkDir(dist, "dist", func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := dist.ReadFile(at)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(at, "dist/")
		all[name], err = newFile(name, body)
		return err
	})
	return all, dberr.Wrap(op, err)
})

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
