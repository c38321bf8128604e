package server

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/config"
)

// TestCertificateIsReadAgain replaces the files of a certificate: handshakes have the new one
// within seconds, and go on with the old one while the files are of no use.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := makeCertificate(t, dir)
	c, err := config.Open(config.Options{Overrides: []config.Setting{{Section: "ssl", Key: "cert_file", Value: cert}, {Section: "ssl", Key: "key_file", Value: key}}})
	if err != nil {
		t.Fatal(err)
	}
	now, log := time.Now(), bytes.Buffer{}
	f, err := openCertificate(c, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now }, false)
	if err != nil {
		t.Fatal(err)
	}
	served := func() string {
		pair, err := f.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(pair.Certificate[0])
	}
	first := served()
	if err := os.WriteFile(cert, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(lookAtFiles)
	if served() != first || strings.Count(log.String(), "can't be used") != 1 {
		t.Errorf("of no use: %s", log.String())
	}
	now = now.Add(lookAtFiles)
	if served(); strings.Count(log.String(), "can't be used") != 1 {
		t.Errorf("told again: %s", log.String())
	}
	makeCertificate(t, dir)
	if served() != first {
		t.Error("the files are looked at in each handshake")
	}
	now = now.Add(lookAtFiles)
	second := served()
	if second == first {
		t.Error("the certificate stays the old one")
	}
	makeCertificate(t, dir)
	if f.refresh(); served() == second {
		t.Error("the certificate stays after a refresh")
	}
}

// TestReload changes the configuration's file and sends the signal.
func TestReload(t *testing.T) {
	signals := make(chan os.Signal)
	file := configured(t, "[uuids]\nmax_count = 5\n")
	r := start(t, Options{Data: filepath.Join(t.TempDir(), "data"), Config: file, User: "adm", Password: "pass", Reload: signals})
	count := func(want string) {
		t.Helper()
		if _, got := r.get("/_node/_local/_config/uuids/max_count", "adm", "pass"); strings.TrimSpace(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// The second receive shows that what followed the first is done.
	reload := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(quick+text), 0o600); err != nil {
			t.Fatal(err)
		}
		signals <- syscall.SIGHUP
		signals <- syscall.SIGHUP
	}
	count(`"5"`)
	reload("[uuids]\nmax_count = 6\n")
	count(`"6"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	count(`"6"`)
	if !strings.Contains(r.log.String(), "could not be read again") {
		t.Error(r.log.String())
	}
}
