package replicate

import "encoding/json"

// AppendJSON appends what _replicate answers: an object with `ok`, the members
// of the checkpoint, and `no_changes` or `use_checkpoints` where they apply.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	answer := struct {
		OK             bool  `json:"ok"`
		NoChanges      bool  `json:"no_changes,omitempty"`
		UseCheckpoints *bool `json:"use_checkpoints,omitempty"`
		*Checkpoint
	}{OK: true, NoChanges: r.NoChanges && !r.NoCheckpoints}
	if r.NoCheckpoints {
		answer.UseCheckpoints = new(bool)
	} else {
		answer.Checkpoint = r.Checkpoint
	}
	b, err := json.Marshal(answer)
	return append(dst, b...), err
}
