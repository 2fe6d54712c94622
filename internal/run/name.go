package run

import (
	"fmt"
	"strconv"
	"strings"
)

// Name of the n-th Run of a Stack.
func Name(stack string, n int) string { return fmt.Sprintf("%s-%d", stack, n) }

// Number of a Run by its name; 0 when the name is none that Name makes.
func Number(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || n < 0 {
		return 0
	}
	return n
}
