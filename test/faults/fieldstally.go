package main

import (
	"fmt"
	"sync"
)

// tally counts what became of all values.
var tally counted

type counted struct {
	mu     sync.Mutex
	fields int
	values map[string]int
}

func (c *counted) add(f field, counts map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]int{}
	}
	c.fields++
	all := 0
	for name, n := range counts {
		c.values[name] += n
		all += n
	}
	fmt.Printf("     %s: %d values, %v; so far %d fields, %v\n", f, all, counts, c.fields, c.values)
}
