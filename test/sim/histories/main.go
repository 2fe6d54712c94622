// Command histories lives through random histories of Cairn: make sim.
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
		v, trace, _ := sim.Replay(sim.Options{Seed: *seed, Limit: -1})
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
	found, s := sim.Histories(*first, *n, *workers, *most)
	took := time.Since(began)
	fmt.Printf("%d histories in %s, %.0f a second: %d steps, %d reconciles, %d writes, %d Runs, %d applies, %d resources (%d excused), %d faults\n",
		*n, took.Round(time.Millisecond), float64(*n)/took.Seconds(), s.Steps, s.Reconciles, s.Writes, s.Runs, s.Applies, s.Creates, s.Excused, s.Faults)
	for _, v := range found {
		fmt.Println(v)
		fmt.Printf("replay: make sim SEED=%d\n", v.Seed)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}
