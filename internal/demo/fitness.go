package demo

import (
	"fmt"
	"iter"
	"time"
)

// The fitness log lies in an ordinary database and finds everything by the order of its ids: exercises by name,
// workouts by their start, lifts by exercise and time.

type exercise struct {
	ID     string `json:"_id"`
	Type   string `json:"type"`
	Number int    `json:"number"`
	Name   string `json:"name"`
}

type workout struct {
	ID      string `json:"_id"`
	Type    string `json:"type"`
	Started string `json:"createdAt"`
	Lifts   int    `json:"lifts"`
}

type lift struct {
	ID          string `json:"_id"`
	Type        string `json:"type"`
	Workout     string `json:"workoutId"`
	Exercise    int    `json:"exercise"`
	Created     string `json:"createdAt"`
	Weight      int    `json:"weight"`
	Repetitions []int  `json:"reps"`
}

// trained are the exercises with the numbers by which lifts name them.
func trained() []exercise {
	names := []string{"squat", "bench-press", "deadlift", "overhead-press", "barbell-row", "pull-up"}
	numbers := []int{223, 31, 95, 178, 12, 140}
	list := make([]exercise, 0, len(names))
	for i, name := range names {
		list = append(list, exercise{ID: "exercise:" + name, Type: "exercise", Number: numbers[i], Name: name})
	}
	return list
}

// inID writes a time as the log's ids hold it: to the second, all in dashes, so that ids order by time.
func inID(t time.Time) string { return t.UTC().Format("2006-01-02-15-04-05") }

// fitness gives the exercises and a workout of three to five lifts for every ten units of size.
func fitness(size int) iter.Seq2[[]byte, error] {
	return each(1+max(5, size/10), func(n int) []any {
		if n == 1 {
			rows := make([]any, 0, len(trained()))
			for _, e := range trained() {
				rows = append(rows, e)
			}
			return rows
		}
		return workoutDocuments(n - 2)
	})
}

// workoutDocuments gives the n-th workout and its lifts; there are workouts every second day since December 2016.
func workoutDocuments(n int) []any {
	r := random("workout", n)
	start := time.Date(2016, 12, 12, 5, 52, 1, 0, time.UTC).AddDate(0, 0, 2*n)
	w := workout{ID: "workout:" + inID(start), Type: "workout", Started: iso(start), Lifts: 3 + r.IntN(3)}
	rows := []any{w}
	for i, at := range r.Perm(len(trained()))[:w.Lifts] {
		done := start.Add(time.Duration(i+1) * 7 * time.Minute)
		number := trained()[at].Number
		rows = append(rows, lift{
			ID: fmt.Sprintf("lift:%d:%s", number, inID(done)), Type: "lift", Workout: w.ID, Exercise: number,
			Created: iso(done), Weight: 40 + n/4 + 5*r.IntN(8), Repetitions: []int{5 + r.IntN(5), 5 + r.IntN(5), 3 + r.IntN(5)},
		})
	}
	return rows
}
