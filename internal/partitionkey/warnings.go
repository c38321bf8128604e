package partitionkey

import (
	"cmp"
	"fmt"
	"slices"
)

// Warning is what speaks against a key: a word for programs, a sentence for people.
type Warning struct {
	Code string
	Text string
}

const (
	fewPartitions = 10   // below it, a database is hardly divided
	largePart     = 0.2  // of all documents, in one partition
	lonely        = 1.5  // documents in a partition on average, below which a query of one finds nothing to list
	hotPart       = 0.3  // of the latest writes, in one partition
	hotTimes      = 5    // as many as its part of all documents says
	largeBytes    = 10e9 // Cloudant's advice for a partition's size
	leastSample   = 50   // documents, below which a sample says little
)

// warnings says what speaks against the key.
func (s *Survey) warnings(r *Report, documents uint64) (ws []Warning) {
	warn := func(code, format string, args ...any) { ws = append(ws, Warning{code, fmt.Sprintf(format, args...)}) }
	if r.Unfit > 0 {
		warn("unfit", "%s of the documents have no partition by this key.", percent(float64(r.Unfit)/float64(r.Sampled)))
	}
	if s.docs == 0 {
		return ws
	}
	if s.docs < leastSample && uint64(r.Sampled) < documents {
		warn("small_sample", "Only %d documents were looked at: this says little.", r.Sampled)
	}
	if r.Estimated < fewPartitions {
		warn("few", "Few values, about %.0f: the database is hardly divided, and each partition grows with it.", r.Estimated)
	}
	largest := r.Largest[0]
	if r.Estimated >= fewPartitions && largest.Part > largePart {
		warn("uneven", "The partition %s holds %s of all documents: queries of it cost that much.", shown(string(largest.Partition)), percent(largest.Part))
	}
	if largest.Bytes > largeBytes {
		warn("large", "The partition %s has about %.0f GB: more than 10 GB in one are slow to move, sync and drop.", shown(string(largest.Partition)), largest.Bytes/1e9)
	}
	if held := float64(documents) * (1 - float64(r.Unfit)/float64(r.Sampled)) / r.Estimated; held < lonely {
		warn("lonely", "Nearly every document has a partition of its own: queries of a partition have nothing to find together.")
	}
	if p, part := s.hottest(); part > hotPart && part > hotTimes*s.part(p) {
		warn("hot", "%s of the latest writes are in the partition %s, which holds %s of all documents: if the key follows the time, all writes go to one partition at a time.",
			percent(part), shown(string(p.name)), percent(s.part(p)))
	}
	return ws
}

// part is the part of all documents that a group holds.
func (s *Survey) part(g *group) float64 { return float64(g.docs) / float64(s.docs) }

// hottest returns the partition that has most of the latest tenth of the writes, and what part of them.
func (s *Survey) hottest() (*group, float64) {
	slices.SortFunc(s.order, func(a, b drawn) int { return cmp.Compare(b.seq, a.seq) })
	latest := s.order[:(len(s.order)+9)/10]
	counts := map[*group]int{}
	most := latest[0].of
	for _, d := range latest {
		if counts[d.of]++; counts[d.of] > counts[most] {
			most = d.of
		}
	}
	if len(latest) < 5 {
		return most, 0 // too few to say
	}
	return most, float64(counts[most]) / float64(len(latest))
}

func percent(part float64) string {
	if part > 0 && part < 0.01 {
		return "Less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}
