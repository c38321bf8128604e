package docfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// The formats of files.
const (
	FormatLines  = "jsonl"
	FormatBackup = "couchbackup" // is read as JSON lines are
	FormatJSON   = "json"
	FormatCSV    = "csv"
	FormatItems  = "dynamodb"
)

// looked is how much of a file is looked at.
const looked = 64 << 10

// Detect returns the format of a file, by its name and how it begins, and what is to be read of it.
func Detect(name string, in *bufio.Reader) string {
	name = strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".gz")
	if ext := filepath.Ext(name); ext == ".csv" || ext == ".tsv" {
		return FormatCSV
	}
	begin, _ := in.Peek(looked) // what can't be read is told by who reads it
	begin = bytes.TrimLeft(begin, "\ufeff \t\r\n")
	line, _, whole := bytes.Cut(begin, []byte("\n"))
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return FormatLines
	case line[0] != '{' && line[0] != '[':
		return FormatCSV
	case !json.Valid(line):
		if whole || len(begin) < looked || line[0] == '[' || bytes.HasPrefix(line, []byte(`{"docs"`)) || bytes.HasPrefix(line, []byte(`{"total_rows"`)) || bytes.HasPrefix(line, []byte(`{"new_edits"`)) {
			return FormatJSON
		}
		return FormatLines
	case line[0] == '[':
		return FormatLines
	}
	for _, list := range []string{"docs", "rows"} {
		v, ok := jsonscan.Member(line, list)
		if _, id := jsonscan.Member(line, "_id"); ok && !id && jsonscan.KindOf(v) == jsonscan.Array {
			return FormatJSON
		}
	}
	if item, ok := jsonscan.Member(line, "Item"); ok && jsonscan.KindOf(item) == jsonscan.Object {
		if _, id := jsonscan.Member(line, "_id"); !id {
			return FormatItems
		}
	}
	return FormatLines
}
