package bucket

import (
	"errors"
	"fmt"
	"testing"
)

// A folder is listed file by file, and each may be gone when its turn comes.
func TestListDuringWritesAndDeletions(t *testing.T) {
	url := "file://" + t.TempDir()
	b := open(t, url, newKeys(t))
	if err := b.PutLoose(t.Context(), "journals/stays", []byte("x")); err != nil {
		t.Fatal(err)
	}
	enough, ended := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-enough:
				ended <- nil
				return
			default:
			}
			key := fmt.Sprintf("journals/%d", i)
			if err := errors.Join(b.PutLoose(t.Context(), key, []byte("x")), b.Delete(t.Context(), key)); err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 1000 {
		keys, err := b.List(t.Context(), "journals")
		if err != nil || len(keys) == 0 || keys[len(keys)-1] != "journals/stays" {
			t.Errorf("%v, %v", keys, err)
			break
		}
		if first, err := First(t.Context(), url); err != nil || first == "" {
			t.Errorf("the first is %q, %v", first, err)
			break
		}
	}
	close(enough)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
