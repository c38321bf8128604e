package web

import (
	"context"
	"testing"
)

func TestTasks(t *testing.T) {
	done := make(chan struct{})
	s := NewShared(nil, nil, done)
	job := Job{Kind: "cleaning", Database: "db"}
	begun := make(chan struct{})
	s.Tasks.Start(job, "", func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	<-begun
	s.Tasks.Start(job, "", func(context.Context) error {
		t.Error("a job is done twice at a time")
		return nil
	})
	s.Tasks.Start(Job{Kind: "cleaning", Database: "db", About: "an index"}, "a client", func(context.Context) error { panic("a mistake") })
	if !s.Tasks.Runs(job) || s.Tasks.Runs(Job{Kind: "cleaning"}) {
		t.Error("it is not known what runs")
	}
	if list := s.Tasks.List(); list[0].Job != job || list[0].Number != 1 || list[0].Started.IsZero() {
		t.Errorf("the list is %+v", list)
	}
	close(done)
	s.Tasks.Wait()
	if list := s.Tasks.List(); len(list) > 0 || s.Tasks.Runs(job) {
		t.Errorf("at the end there are %+v", list)
	}
}
