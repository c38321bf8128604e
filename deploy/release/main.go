// Command release makes what a release carries besides the program: the licences of everything that is in it
// (`licences`, committed as THIRD_PARTY_LICENSES) and a bill of materials in CycloneDX's form (`sbom`). It owns what
// counts as a part of the program and which licences may be in it; it runs at the top of the repository. Begin reading
// at parts.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run carries out a command: licences or sbom.
func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("one of licences, sbom is needed")
	}
	all, err := parts()
	if err != nil {
		return err
	}
	switch args[0] {
	case "licences":
		before, err := os.ReadFile(licencesFile)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		text, err := licences(all, string(before))
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return err
	case "sbom":
		release, err := versionNow()
		if err == nil {
			err = sbom(out, release, all)
		}
		return err
	}
	return fmt.Errorf("there is no command %s", args[0])
}
