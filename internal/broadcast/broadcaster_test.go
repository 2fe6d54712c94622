package broadcast

import (
	"fmt"
	"sync"
	"testing"
)

func TestBellsMayBeRungWhileOthersComeAndGo(t *testing.T) {
	var b Broadcaster
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			news, leave := b.Subscribe(fmt.Sprint(i % 5))
			b.Notify(fmt.Sprint(i % 5))
			<-news
			leave()
		})
	}
	all.Wait()
	if len(b.ears) > 0 {
		t.Errorf("left behind: %v", b.ears)
	}
}
