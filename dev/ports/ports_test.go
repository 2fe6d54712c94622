package ports

import (
	"net"
	"os"
	"strconv"
	"testing"
)

func TestFreePortIsOutsideEphemeralRange(t *testing.T) {
	if given() <= first && os.Getenv("CI") == "" {
		t.Skip("this system gives connections all ports that the test could ask for; Linux does not, and this " +
			"fails in CI")
	}
	seen := map[string]bool{}
	for range 20 {
		address, err := Free(t.Context(), "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		_, text, err := net.SplitHostPort(address)
		port, bad := strconv.Atoi(text)
		if err != nil || bad != nil || port < first || port >= given() || port >= after {
			t.Errorf("%s, and connections get those from %d on", address, given())
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() }) // until then it is not free any more
	}
	if len(seen) != 20 {
		t.Errorf("of 20 ports %d are different", len(seen))
	}
}
