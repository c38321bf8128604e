package certificates

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestNotAskedAtOnce has an ACME server say when it wants to be asked again. acme.Client polls by what it is told, without a pause where
// that is a time that has passed or a number that overflows.
func TestNotAskedAtOnce(t *testing.T) {
	said := ""
	ca := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", said) }))
	defer ca.Close()
	c := http.Client{Transport: bounded{ca.Client().Transport.(*http.Transport)}}
	for text, want := range map[string]string{
		"-1": "", "0": "", "-9223372036": "", "9223372037": "86400", "18446744073709551615": "", "x": "", "": "", "5": "5", "86401": "86400",
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): "",
	} {
		said = text
		a, err := c.Get(ca.URL)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if got := a.Header.Get("Retry-After"); got != want {
			t.Errorf("Retry-After %q is handed on as %q, want %q", text, got, want)
		}
	}
}
