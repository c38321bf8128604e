package admin

import (
	"bytes"
	"time"

	"github.com/sectional/sectional/internal/jobs"
)

// CopyTask is the type of the task of a copy into another engine.
const CopyTask = "copy"

// CopyLease is what a copier holds in a store that it is no server of, so that all servers show its task. There is one
// copy at a time.
var CopyLease = jobs.ID{Kind: tasksLease, Subject: CopyTask}

// CopyProgress is what the task of a copy says besides.
type CopyProgress struct {
	Step  string `json:"step"`
	Rows  int64  `json:"rows_done"`
	Bytes int64  `json:"bytes_done"`
	Total int64  `json:"total_bytes,omitempty"` // as far as it is known
}

// says puts what a task says besides into its row.
func (t *task) says(words any) {
	if p, ok := words.(CopyProgress); ok {
		t.CopyProgress, t.Progress = &p, perCent(uint64(p.Bytes), uint64(p.Total))
	}
}

// TellCopy is what the row of CopyLease says: node is where the copier runs, database what it copies, "" for everything.
func TellCopy(node, database string, began, now time.Time, p CopyProgress) string {
	t := task{Type: CopyTask, Node: node, PID: "<0.0.0>", Database: database, Started: began.Unix(), Updated: now.Unix()}
	t.says(p)
	return tellTasks([]task{t})
}

// toldTasks is what the keys begin with of the rows in which servers and copiers tell of their tasks.
var toldTasks = jobs.HeldKeys(tasksLease)

// IsToldTask reports whether a key is that of such a row.
func IsToldTask(key []byte) bool {
	for _, prefix := range toldTasks {
		if bytes.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
