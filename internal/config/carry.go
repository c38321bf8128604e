package config

import "strings"

// SharedPart returns the part of a local file that the servers of a store share, as a
// text for a Shared.
func SharedPart(file string) (text string, err error) {
	d, err := readDocument(file, false)
	if err != nil {
		return "", err
	}
	for section, keys := range d.layer() {
		for key := range keys {
			if OfMachine(section, key) {
				d = d.without(Setting{Section: section, Key: key})
			}
		}
	}
	return strings.Join(d.lines, "\n"), nil
}

// WriteLocal makes a text that servers shared a local file. What is a machine's own in the
// file that is there stays.
func WriteLocal(file, text string) error {
	old, err := readDocument(file, false)
	if err != nil {
		return err
	}
	d := parse(text)
	for section, keys := range old.layer() {
		for key, value := range keys {
			if OfMachine(section, key) {
				d = d.with(Setting{Section: section, Key: key, Value: value})
			}
		}
	}
	return d.write(file)
}
