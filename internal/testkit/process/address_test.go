package process

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestFreeAddress: no address is given twice, to this process or to another that lives beside it.
func TestFreeAddress(t *testing.T) {
	if os.Getenv("ANOTHER_PROCESS") != "" {
		if address := reserve(portOf(t, os.Getenv("ANOTHER_PROCESS"))); address != "" {
			t.Errorf("%s is given again", address)
		}
		return
	}
	given := map[string]bool{}
	for range 200 {
		address, err := FreeAddress()
		if err != nil || given[address] {
			t.Fatalf("%s, %v", address, err)
		}
		given[address] = true
		if port := portOf(t, address); port < firstPort || port >= firstPort+ports || reserve(port) != "" {
			t.Fatalf("%s is given", address)
		}
	}
	for address := range given {
		other := exec.Command(os.Args[0], "-test.run=^TestFreeAddress$")
		other.Env = append(os.Environ(), "ANOTHER_PROCESS="+address)
		if said, err := other.CombinedOutput(); err != nil {
			t.Errorf("another process: %v\n%s", err, said)
		}
		break // one shows it
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}
