package assembly

import (
	"cmp"
	"context"
	"time"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/web"
)

// longestLook is how long a collector of metrics waits for the queue of jobs, whose rows may be in a PostgreSQL
// server that does not answer: then there are no figures of it.
const longestLook = 2 * time.Second

// workGauges are the figures of what the server does in the background. They are counted as it happens; of the queue a
// bounded number of rows is read.
func (s *Server) workGauges() []web.Gauge {
	ctx, cancel := context.WithTimeout(context.Background(), longestLook)
	defer cancel()
	gauges := append(replicationGauges(s.Replicator.Counts()), indexGauges(s.Indexes.Counts())...)
	gauges = append(gauges, subscriptionGauges(s.Subscriptions.Counts())...)
	gauges = append(gauges, functionGauges(s.Scripts.Counts())...)
	if pools, err := s.Store.JobCounts(ctx); err == nil {
		for _, c := range pools {
			gauges = append(gauges, poolGauges(c)...)
		}
	}
	return gauges
}

// poolGauges are the figures of a pool of jobs.
func poolGauges(c jobs.Counts) []web.Gauge {
	all := []web.Gauge{
		web.Level("jobs_running", "Jobs of the queue that this server works on.", float64(c.Running)),
		web.Count("jobs_turns_total", "Times that this server has worked on a job.", float64(c.Turns)),
		web.Count("jobs_failures_total", "Those of them that failed and are tried again.", float64(c.Failures)),
		web.Count("jobs_strays_total", "Rows of the queue without a job that were removed.", float64(c.Strays)),
		web.Level("jobs_due", "Jobs of the store that are due, 1000 for that many or more.", float64(c.Due)),
		web.Level("jobs_oldest_due_seconds", "For how long the first of the jobs that are due has been.", c.Waited.Seconds()),
	}
	for i := range all {
		all[i].Label, all[i].Of = "pool", cmp.Or(c.Pool, "store")
	}
	return all
}

func replicationGauges(c schedule.Counts) []web.Gauge {
	all := []web.Gauge{
		web.Level("replications_running", "Replications that this server runs.", float64(c.Running)),
		web.Level("replications_crashing", "Replications that failed here and wait until they are tried again.", float64(c.Crashing)),
		web.Level("replications_waiting", "Replications that wait for their turn.", float64(c.Waiting)),
		web.Count("replications_failures_total", "Runs of replications that failed.", float64(c.Failures)),
		web.Count("replications_completed_total", "Replications that came to their end.", float64(c.Completed)),
		web.Count("replications_documents_read_total", "Documents that replications have read.", float64(c.DocsRead)),
		web.Count("replications_documents_written_total", "Documents that replications have written.", float64(c.DocsWritten)),
		web.Count("replications_documents_refused_total", "Documents that the targets of replications have refused.", float64(c.DocWriteFailures)),
	}
	if !c.Success.IsZero() {
		all = append(all, web.Level("replications_last_success_seconds", "When a replication last got further, or came to its end.", float64(c.Success.UnixMilli())/1000))
	}
	return all
}

func indexGauges(c index.Counts) []web.Gauge {
	return []web.Gauge{
		web.Level("indexes_building", "Indexes that this server builds.", float64(c.Building)),
		web.Level("indexes_behind", "Indexes that this server keeps and that changes wait for.", float64(c.Behind)),
		web.Level("indexes_changes_behind", "Changes that they have not taken in, all together.", float64(c.Changes)),
		web.Level("indexes_changes_behind_most", "Changes that the one of them that is furthest behind has not taken in.", float64(c.Max)),
	}
}

func functionGauges(c script.Counts) []web.Gauge {
	return []web.Gauge{
		web.Count("functions_processes_started_total", "Processes that were started for functions of design documents.", float64(c.Started)),
		web.Count("functions_panics_total", "Processes for functions that a panic of their program ended.", float64(c.Panics)),
	}
}

func subscriptionGauges(c subscribe.Counts) []web.Gauge {
	return []web.Gauge{
		web.Count("subscriptions_delivered_total", "Requests that receivers have taken.", float64(c.Delivered)),
		web.Count("subscriptions_changes_delivered_total", "Changes in them.", float64(c.Changes)),
		web.Count("subscriptions_failed_total", "Requests that failed.", float64(c.Failed)),
		web.Count("subscriptions_put_off_total", "Requests whose receivers asked for time.", float64(c.PutOff)),
		web.Count("subscriptions_dead_letters_total", "Requests that were given up.", float64(c.Dead)),
		web.Count("subscriptions_ended_total", "Subscriptions whose receivers want nothing any more.", float64(c.Ended)),
	}
}
