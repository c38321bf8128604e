package couch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scenario is one recording: requests in order and what CouchDB answered to each.
type scenario struct {
	Name  string
	About string
	Steps []step
}

type step struct {
	Request  request
	Response response
}

// request is what was sent. A body is in one of JSON, Text and Base64.
type request struct {
	Method  string
	Path    string
	Headers map[string]string
	Auth    json.RawMessage // "none" or [user, password]; absent for the administrator
	JSON    json.RawMessage
	Text    *string
	Base64  []byte
}

// response is what was answered. Headers are those that are compared; a body is compared where one of the others is
// there.
type response struct {
	Status  int
	Headers map[string]string
	JSON    json.RawMessage
	Lines   []json.RawMessage
	Text    *string
}

// uses reports whether the scenario names the placeholder in one of its paths.
func (s scenario) uses(placeholder string) bool {
	return slices.ContainsFunc(s.Steps, func(s step) bool {
		return strings.Contains(s.Request.Path, "«"+placeholder+"»")
	})
}

// read returns the scenarios of one file in testdata.
func read(path string) (list []scenario, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for lines := bufio.NewReader(unzipped); ; {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var s scenario
			if err := json.Unmarshal(line, &s); err != nil {
				return nil, fmt.Errorf("%s: scenario %d: %w", path, len(list)+1, err)
			}
			list = append(list, s)
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

// recording is a file of testdata with its subject's name.
type recording struct {
	subject   string
	scenarios []scenario
}

func recordings() ([]recording, error) {
	const suffix = ".jsonl.gz"
	paths, err := filepath.Glob("testdata/*" + suffix)
	if err != nil {
		return nil, err
	}
	var list []recording
	for _, path := range paths {
		scenarios, err := read(path)
		if err != nil {
			return nil, err
		}
		list = append(list, recording{strings.TrimSuffix(filepath.Base(path), suffix), scenarios})
	}
	return list, nil
}
