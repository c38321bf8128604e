package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

var errLate = dberr.New(dberr.Invalid, "", "late")

func TestStreamFailsCleanlyBeforeItBegan(t *testing.T) {
	a := newSmall(NewShared(nil, nil, nil), func(r *Request) error {
		r.Etag("tag")
		s := r.Stream(200, JSON)
		s.Buf = append(s.Buf, `{"rows":[`...)
		return errLate
	})
	if w := a.ask("Do", nil); w.Code != 400 || w.Body.String() != "!late\n" || w.Header().Get("Etag") != "" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestStreamFailsWithALineAndACut(t *testing.T) {
	cut := false
	w := httptest.NewRecorder()
	a := newSmall(NewShared(nil, nil, nil), func(r *Request) error {
		s := r.Stream(200, JSON)
		s.Buf = append(s.Buf, `{"rows":[`...)
		if err := s.Flush(); err != nil {
			return err
		}
		return errLate
	})
	func() {
		defer func() { cut = recover() == http.ErrAbortHandler }()
		h := httptest.NewRequest("POST", "/", nil)
		h.Header.Set("X-Action", "Do")
		a.ServeHTTP(w, h)
	}()
	if !cut || w.Body.String() != `{"rows":[`+"\n!late\n" {
		t.Errorf("cut %v, body %q", cut, w.Body)
	}
}

func TestStreamOfManyRows(t *testing.T) {
	const rows = 10000
	a := newSmall(NewShared(nil, nil, nil), func(r *Request) error {
		s := r.Stream(200, JSON)
		for i := range rows {
			if i == rows/2 {
				if err := s.Flush(); err != nil {
					return err
				}
				s.Rest()
				s.Wake()
			}
			s.Buf = append(s.Buf, "0123456789\n"...)
			if err := s.Spill(); err != nil {
				return err
			}
		}
		return s.End()
	})
	if w := a.ask("Do", nil); w.Body.String() != strings.Repeat("0123456789\n", rows) {
		t.Errorf("%d bytes", w.Body.Len())
	}
}

func TestAside(t *testing.T) {
	s := BufferStream()
	defer s.Release()
	s.Buf = append(s.Buf, strings.Repeat("x", 2*SpillSize)...)
	if err := s.Spill(); err != nil || len(s.Buf) != 2*SpillSize {
		t.Errorf("%d bytes are left: %v", len(s.Buf), err)
	}
}
