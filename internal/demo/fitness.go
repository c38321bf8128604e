package demo

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// The fitness log finds everything by the order of its ids: exercises by their number, workouts by their start, lifts
// by exercise and time. It lies in an ordinary database, and once more in one where each user has a partition.

type exercise struct {
	ID          string `json:"_id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Push        bool   `json:"isPush"`
	Pull        bool   `json:"isPull"`
	Legs        bool   `json:"isLegs"`
	Favorite    bool   `json:"isFavorite"`
	Created     int64  `json:"createdAt"`
}

type workout struct {
	ID      string `json:"_id"`
	Created int64  `json:"createdAt"`
}

// lift embeds its sets, and the exercise as it was then.
type lift struct {
	ID       string   `json:"_id"`
	Workout  string   `json:"workoutId"`
	Exercise snapshot `json:"exercise"`
	Note     string   `json:"note"`
	Sets     []set    `json:"sets"`
	Created  int64    `json:"createdAt"`
}

type snapshot struct {
	ID          string `json:"_id"`
	Name        string `json:"name"`
	Favorite    bool   `json:"isFavorite"`
	Description string `json:"description"`
}

// set holds what was typed in, as text.
type set struct {
	Resistance  string `json:"resistance"`
	Performance string `json:"performance"`
	Note        string `json:"note"`
}

// trained are the exercises.
func trained() []exercise {
	return []exercise{
		{ID: "exercise:1234", Name: "Dumbbell Bench Press", Push: true},
		{ID: "exercise:223", Name: "Weighted Dips", Push: true},
		{ID: "exercise:4830", Name: "Barbell Back Squat", Legs: true},
	}
}

func fitnessDatabase() database {
	return database{
		name: "fitness", samples: sampleFitness, generated: fitness,
		design: []request{{"PUT", "/_design/lifts-by-workout", `{"views":{"lifts-by-workout":{"map":` +
			quoted(`function (doc) { if (doc._id.indexOf("lift:") === 0) { emit([doc.workoutId, doc.createdAt]); } }`) + `}}}`}},
		views: []string{"/_design/lifts-by-workout/_view/lifts-by-workout"},
	}
}

// sharedFitnessDatabase has the log of each user in a partition of that user's name, which the rule in _security lets
// the user into. The map function meets whole ids, so it looks for the member that lifts alone have.
func sharedFitnessDatabase() database {
	return database{
		name: "fitness-by-user", partitioned: true, samples: sharedFitness,
		security: `{"partitions":[{"who":"*","partition":"{name}","access":"write"}]}`,
		design: []request{{"PUT", "/_design/lifts-by-workout", `{"views":{"lifts-by-workout":{"map":` +
			quoted(`function (doc) { if (doc.workoutId) { emit([doc.workoutId, doc.createdAt]); } }`) + `}}}`}},
		views: []string{"/_partition/alice/_design/lifts-by-workout/_view/lifts-by-workout"},
	}
}

// inID writes a time as the log's ids hold it: to the second, all in dashes, so that ids order by time.
func inID(t time.Time) string { return t.UTC().Format("2006-01-02-15-04-05") }

func newLift(workout, at string, created int64, e exercise, sets []set) lift {
	return lift{
		ID: "lift:" + strings.TrimPrefix(e.ID, "exercise:") + ":" + at, Workout: workout,
		Exercise: snapshot{ID: e.ID, Name: e.Name}, Sets: sets, Created: created,
	}
}

// sampleFitness is the articles' log: three exercises, two workouts, the newest of the database, and a lift in each.
func sampleFitness() []any {
	dips := trained()[1]
	rows := []any{
		workout{"workout:2016-12-12-14-00-15", 1481569215000},
		workout{"workout:2016-12-11-15-07-43", 1481486863000},
		newLift("workout:2016-12-12-14-00-15", "2016-12-12-14-18-59", 1481570339000, dips, []set{}),
		newLift("workout:2016-12-11-15-07-43", "2016-12-11-15-27-59", 1481488079000, dips, []set{}),
	}
	for _, e := range trained() {
		rows = append(rows, e)
	}
	return rows
}

// sharedFitness is the articles' log for each of two users.
func sharedFitness() (rows []any) {
	for _, name := range []string{"alice", "bob"} {
		for _, row := range sampleFitness() {
			switch d := row.(type) {
			case workout:
				d.ID = name + ":" + d.ID
				rows = append(rows, d)
			case lift:
				d.ID = name + ":" + d.ID
				rows = append(rows, d)
			case exercise:
				d.ID = name + ":" + d.ID
				rows = append(rows, d)
			}
		}
	}
	return rows
}

// maxWorkouts is thirteen years of training: earlier ones would be odd.
const maxWorkouts = 5000

// fitness returns a workout of two or three lifts for every ten units of size.
func fitness(size int) iter.Seq2[[]byte, error] {
	return each(min(max(5, size/10), maxWorkouts), generatedWorkout)
}

// generatedWorkout returns the n-th workout before the articles' ones and its lifts; there is one each day.
func generatedWorkout(n int) []any {
	r := random("workout", n)
	start := time.Date(2016, 12, 11, 5, 52, 1, 0, time.UTC).AddDate(0, 0, -n)
	w := workout{ID: "workout:" + inID(start), Created: start.UnixMilli()}
	rows := []any{w}
	for i, at := range r.Perm(len(trained()))[:2+r.IntN(2)] {
		done := start.Add(time.Duration(i+1) * 7 * time.Minute)
		var sets []set
		for range 3 {
			sets = append(sets, set{Resistance: fmt.Sprint(20 + 5*r.IntN(12)), Performance: fmt.Sprint(5 + r.IntN(6))})
		}
		rows = append(rows, newLift(w.ID, inID(done), done.UnixMilli(), trained()[at], sets))
	}
	return rows
}
