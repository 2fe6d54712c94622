// Command histories runs random histories of Cairn: make sim.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"cairn.dev/cairn/test/sim"
)

func main() {
	n := flag.Int("n", 100_000, "how many histories")
	first := flag.Uint64("first", 1, "the first seed")
	seed := flag.Uint64("seed", 0, "replay this one, with its trace")
	workers := flag.Int("workers", 0, "how many at a time; as many as there are cores when 0")
	most := flag.Int("most", 5, "end after so many violations")
	often := flag.Bool("often", false, "delete Runs, States, pods and Secrets ten times as often in all histories, "+
		"and not in one of eight")
	stride := flag.Int("stride", 0, "go through one of so many histories of the small scope instead; all when 1")
	flag.Parse()
	if *stride > 0 {
		began := time.Now()
		n, found := sim.Exhaust(*workers, *stride)
		fmt.Printf("%d histories of the small scope in %s\n", n, time.Since(began).Round(time.Millisecond))
		for _, f := range found {
			fmt.Println(f)
		}
		if len(found) > 0 {
			os.Exit(1)
		}
		return
	}
	if *seed != 0 {
		v, trace, _ := sim.Replay(sim.Options{Seed: *seed, Limit: -1, Often: *often})
		for _, line := range trace {
			fmt.Println(line)
		}
		if v != nil {
			fmt.Println(v)
			os.Exit(1)
		}
		return
	}
	began := time.Now()
	found, s := sim.Histories(*first, *n, *workers, *most, *often)
	took := time.Since(began)
	fmt.Printf("%d histories in %s, %.0f a second: %d steps, %d reconciles, %d writes, %d Runs, %d applies, %d "+
		"resources (%d excused), %d faults\n",
		*n, took.Round(time.Millisecond), float64(*n)/took.Seconds(), s.Steps, s.Reconciles, s.Writes, s.Runs,
		s.Applies, s.Creates, s.Excused, s.Faults)
	for _, v := range found {
		fmt.Println(v)
		fmt.Println("replay: make sim", replay(v.Seed, *often))
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

// replay returns the make command that replays a history.
func replay(seed uint64, often bool) string {
	if often {
		return fmt.Sprintf("SEED=%d OFTEN=1", seed)
	}
	return fmt.Sprintf("SEED=%d", seed)
}
