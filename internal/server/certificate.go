package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// certificate is the one that HTTPS is served with, from files that may be written anew while the
// server runs: handshakes look at them now and then. Files that can't be used leave the one that there is.
type certificate struct {
	files func() certificateFiles
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  string    // of the files that were read last, whatever came of it
	looked time.Time // at the files
}

// certificateFiles are the names of the files.
type certificateFiles struct{ cert, key string }

// lookAtFiles is how often the files are looked at.
const lookAtFiles = 10 * time.Second

// openCertificate reads the files of [ssl], which must be there; with optional there may be none.
func openCertificate(c *config.Config, log *slog.Logger, now func() time.Time, optional bool) (*certificate, error) {
	files := config.Derive(c, func(s *config.Snapshot) certificateFiles {
		return certificateFiles{s.String("ssl", "cert_file", ""), s.String("ssl", "key_file", "")}
	})
	f := &certificate{files: files.Value, log: log, now: now}
	if optional && files.Value() == (certificateFiles{}) {
		f.stamp = stampOf(certificateFiles{})
		return f, nil
	}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("the files of [ssl] cert_file and key_file can't be used: %w", err)
	}
	return f, nil
}

// get is tls.Config's GetCertificate; nil where there are no files.
func (f *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now().Sub(f.looked) >= lookAtFiles {
		f.look()
	}
	return f.pair, nil
}

// refresh looks at the files now.
func (f *certificate) refresh() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
}

// look reads the files if they have changed. The caller holds the lock.
func (f *certificate) look() {
	before := f.stamp
	if f.looked = f.now(); stampOf(f.files()) == before {
		return
	}
	if err := f.read(); err != nil {
		f.log.Warn("the new files of [ssl] cert_file and key_file can't be used; the certificate stays", "err", err)
		return
	}
	f.log.Info("the certificate was read again", "expires", f.pair.Leaf.NotAfter)
}

// read reads the files.
func (f *certificate) read() error {
	names := f.files()
	f.looked, f.stamp = f.now(), stampOf(names)
	pair, err := tls.LoadX509KeyPair(names.cert, names.key)
	if err == nil {
		f.pair = &pair
	}
	return err
}

// stampOf tells the files as they are from others.
func stampOf(names certificateFiles) (stamp string) {
	for _, name := range []string{names.cert, names.key} {
		stamp += name + "\n"
		if info, err := os.Stat(name); err == nil {
			stamp += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp
}

// ends is when the certificate expires; zero where there are no files.
func (f *certificate) ends() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pair == nil {
		return time.Time{}
	}
	return f.pair.Leaf.NotAfter
}
