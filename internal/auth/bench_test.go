package auth

import (
	"context"
	"testing"
)

// What a request with a remembered password costs.
func BenchmarkBasic(b *testing.B) {
	w := newWorld(b)
	body := []byte(`{"name":"jan","roles":["a"],"password_scheme":"simple","salt":"salt","password_sha":"c88e9c67041a74e0357befdff93f87dde0904214"}`)
	u, err := ParseUser(body)
	if err != nil {
		b.Fatal(err)
	}
	w.opts.Users = usersFunc(func(context.Context, string, string) (*User, error) { return u, nil })
	r := basic("jan", "password")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Authenticate(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
