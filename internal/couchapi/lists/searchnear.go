package lists

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	textfind "github.com/sectional/sectional/internal/index/text/find"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/jsonscan"
)

// nearestRows is how many documents the nearest are if nobody says.
const nearestRows = 10

// setNearest reads {field, vector, k, filter, similarity, exact, boost, fusion}: JSON in
// both places.
func (q *searchQuery) setNearest(v listValue) error {
	raw, err := v.json()
	if err != nil {
		return err
	}
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return badNearest("it must be an object with `field` and `vector`")
	}
	members, err := couchhttp.MembersOf(raw)
	if err != nil {
		return err
	}
	q.Nearest, q.nearFilter, q.fused = &textfind.Nearest{K: nearestRows, Boost: 1}, nil, false
	field, vector := false, false
	for _, m := range members {
		set := nearParams[m.Name]
		if set == nil {
			return badNearest("`%s` is not a member of it", m.Name)
		}
		if !set(q, bytes.TrimSpace(m.Value)) {
			return badNearest("invalid value for `%s`", m.Name)
		}
		field = field || m.Name == "field"
		if m.Name == "vector" {
			vector = true
			if q.Nearest.Vector, err = segment.Numbers(m.Value); err != nil {
				return badNearest("%s", err.Error())
			}
		}
	}
	if !field || !vector {
		return badNearest("it must have `field` and `vector`")
	}
	if _, err := segment.Vector(q.Nearest.Vector, q.Nearest.Similarity); err != nil {
		return badNearest("%s", err.Error())
	}
	return nil
}

func badNearest(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", "knn: "+reason, args...)
}

// nearParams take the members of knn, and report whether they are what they must be.
var nearParams = map[string]func(q *searchQuery, raw []byte) bool{
	"field":  func(q *searchQuery, raw []byte) bool { return nearValue(raw, jsonscan.String, &q.Nearest.Field) },
	"vector": func(_ *searchQuery, raw []byte) bool { return jsonscan.KindOf(raw) == jsonscan.Array },
	"k": func(q *searchQuery, raw []byte) bool {
		return nearValue(raw, jsonscan.Number, &q.Nearest.K)
	},
	"filter": func(q *searchQuery, raw []byte) bool { return nearValue(raw, jsonscan.String, &q.nearFilter) },
	"exact":  func(q *searchQuery, raw []byte) bool { return json.Unmarshal(raw, &q.Nearest.Exact) == nil },
	"similarity": func(q *searchQuery, raw []byte) bool {
		name := ""
		ok := nearValue(raw, jsonscan.String, &name)
		q.Nearest.Similarity = segment.SimilarityOf(name)
		return ok && q.Nearest.Similarity != segment.NoSimilarity
	},
	"boost": func(q *searchQuery, raw []byte) bool {
		q.fused = true
		return nearValue(raw, jsonscan.Number, &q.Nearest.Boost) && q.Nearest.Boost >= 0 && q.Nearest.Boost <= math.MaxFloat32
	},
	"fusion": func(q *searchQuery, raw []byte) bool {
		q.fused = true
		name := ""
		ok := nearValue(raw, jsonscan.String, &name)
		if name == "sum" {
			q.Nearest.Fusion = textfind.ByScore
		}
		return ok && (name == "rrf" || name == "sum")
	},
}

// nearValue reads a value of a kind.
func nearValue(raw []byte, kind jsonscan.Kind, into any) bool {
	return jsonscan.KindOf(raw) == kind && json.Unmarshal(raw, into) == nil
}
