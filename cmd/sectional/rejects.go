package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// rejects lists what a command could not carry over: in a file, as JSON lines, or in words for whoever looks on.
type rejects struct {
	path string
	out  io.Writer
	file *os.File
	to   *bufio.Writer
	err  error
	said int
}

// mostSaid bounds how many are told in words.
const mostSaid = 20

// newRejects begins a list. The file is made when there is something to list.
func newRejects(path string, out io.Writer) (*rejects, error) {
	if path != "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // that of a run before
			return nil, err
		}
	}
	return &rejects{path: path, out: out}, nil
}

// add lists one: the value in the file, the sentence in words.
func (r *rejects) add(value any, sentence string) {
	if r.path == "" {
		if r.said++; r.said <= mostSaid {
			fmt.Fprintln(r.out, "rejected:", sentence)
		} else if r.said == mostSaid+1 {
			fmt.Fprintln(r.out, "rejected: more; --rejected FILE lists all")
		}
		return
	}
	if r.file == nil && r.err == nil {
		if r.file, r.err = os.OpenFile(r.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); r.err == nil {
			r.to = bufio.NewWriter(r.file)
		}
	}
	if r.err == nil {
		r.err = json.NewEncoder(r.to).Encode(value)
	}
}

// Close ends the list. Errors: it could not be written.
func (r *rejects) Close() error {
	if r.file == nil {
		return r.err
	}
	if r.err == nil {
		r.err = r.to.Flush()
	}
	if err := r.file.Close(); r.err == nil {
		r.err = err
	}
	return r.err
}
