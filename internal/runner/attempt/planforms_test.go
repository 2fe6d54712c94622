package attempt

import (
	"bytes"
	"path/filepath"
	"testing"
)

func TestATextThatIsTooLarge(t *testing.T) {
	t.Parallel()
	c, err := startCapture(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.remove()
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 16 {
		c.Write(part)
	}
	var all bytes.Buffer
	if err := c.copy(&all); err != nil || all.Len() != 16<<20 {
		t.Errorf("%d, %v", all.Len(), err)
	}
	if n, err := c.Write([]byte("y")); n != 1 || err != nil {
		t.Errorf("the program notices: %d, %v", n, err)
	}
	if err := c.copy(&all); err == nil || err.Error() != "it has more than 16 MiB" {
		t.Errorf("%v", err)
	}
}
