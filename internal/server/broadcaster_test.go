package server

import (
	"fmt"
	"sync"
	"testing"
)

func TestBellsMayBeRungWhileOthersComeAndGo(t *testing.T) {
	var b bells
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			news, leave := b.listen(fmt.Sprint(i % 5))
			b.ring(fmt.Sprint(i % 5))
			<-news
			leave()
		})
	}
	all.Wait()
	if len(b.ears) > 0 {
		t.Errorf("left behind: %v", b.ears)
	}
}
