package server

import (
	"cmp"
	"context"
	"time"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/replicate/schedule"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/web"
)

// longestLook is how long a collector of metrics waits for the queue of jobs, whose rows may be in a PostgreSQL
// server that does not answer: then there are no figures of it.
const longestLook = 2 * time.Second

// workGauges are the figures of what the server does in the background. They are counted as it happens; of the queue a
// bounded number of rows is read.
func (a *assembly) workGauges() []web.Gauge {
	ctx, cancel := context.WithTimeout(context.Background(), longestLook)
	defer cancel()
	gauges := append(replicationGauges(a.replicator.Counts()), indexGauges(a.indexes.Counts())...)
	gauges = append(gauges, subscriptionGauges(a.subscriptions.Counts())...)
	if pools, err := a.store.JobCounts(ctx); err == nil {
		for _, c := range pools {
			gauges = append(gauges, poolGauges(c)...)
		}
	}
	return gauges
}

// poolGauges are the figures of a pool of jobs.
func poolGauges(c jobs.Counts) []web.Gauge {
	all := []web.Gauge{
		level("jobs_running", "Jobs of the queue that this server works on.", float64(c.Running)),
		count("jobs_turns_total", "Times that this server has worked on a job.", float64(c.Turns)),
		count("jobs_failures_total", "Those of them that failed and are tried again.", float64(c.Failures)),
		level("jobs_due", "Jobs of the store that are due, 1000 for that many or more.", float64(c.Due)),
		level("jobs_oldest_due_seconds", "For how long the first of the jobs that are due has been.", c.Waited.Seconds()),
	}
	for i := range all {
		all[i].Label, all[i].Of = "pool", cmp.Or(c.Pool, "store")
	}
	return all
}

func replicationGauges(c schedule.Counts) []web.Gauge {
	all := []web.Gauge{
		level("replications_running", "Replications that this server runs.", float64(c.Running)),
		level("replications_crashing", "Replications that failed here and wait until they are tried again.", float64(c.Crashing)),
		level("replications_waiting", "Replications that wait for their turn.", float64(c.Waiting)),
		count("replications_failures_total", "Runs of replications that failed.", float64(c.Failures)),
		count("replications_completed_total", "Replications that came to their end.", float64(c.Completed)),
		count("replications_documents_read_total", "Documents that replications have read.", float64(c.DocsRead)),
		count("replications_documents_written_total", "Documents that replications have written.", float64(c.DocsWritten)),
		count("replications_documents_refused_total", "Documents that the targets of replications have refused.", float64(c.DocWriteFailures)),
	}
	if !c.Success.IsZero() {
		all = append(all, level("replications_last_success_seconds", "When a replication last got further, or came to its end.", float64(c.Success.UnixMilli())/1000))
	}
	return all
}

func indexGauges(c index.Counts) []web.Gauge {
	return []web.Gauge{
		level("indexes_building", "Indexes that this server builds.", float64(c.Building)),
		level("indexes_behind", "Indexes that this server keeps and that changes wait for.", float64(c.Behind)),
		level("indexes_changes_behind", "Changes that they have not taken in, all together.", float64(c.Changes)),
		level("indexes_changes_behind_most", "Changes that the one of them that is furthest behind has not taken in.", float64(c.Most)),
	}
}

func subscriptionGauges(c subscribe.Counts) []web.Gauge {
	return []web.Gauge{
		count("subscriptions_delivered_total", "Requests that receivers have taken.", float64(c.Delivered)),
		count("subscriptions_changes_delivered_total", "Changes in them.", float64(c.Changes)),
		count("subscriptions_failed_total", "Requests that failed.", float64(c.Failed)),
		count("subscriptions_put_off_total", "Requests whose receivers asked for time.", float64(c.PutOff)),
		count("subscriptions_dead_letters_total", "Requests that were given up.", float64(c.Dead)),
		count("subscriptions_ended_total", "Subscriptions whose receivers want nothing any more.", float64(c.Ended)),
	}
}
