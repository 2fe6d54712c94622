package plan

import "slices"

// mostCompared is how many pairs of elements are compared to find which of a list have stayed. Longer lists are
// compared place by place.
const mostCompared = 1 << 16

// pairing: an element of a list has become an element of another one; -1 is none.
type pairing struct{ from, to int }

// align finds what has become of the elements of a list of n in one of m: those that are the same stay in order,
// and what is between them is paired in order. What then remains is removed or added.
func align(n, m int, same func(from, to int) bool) []pairing {
	var steps []pairing
	start, endN, endM := 0, n, m
	for start < min(n, m) && same(start, start) {
		steps = append(steps, pairing{start, start})
		start++
	}
	for endN > start && endM > start && same(endN-1, endM-1) {
		endN, endM = endN-1, endM-1
	}
	steps = append(steps, middle(start, endN, start, endM, same)...)
	for i := range n - endN {
		steps = append(steps, pairing{endN + i, endM + i})
	}
	return steps
}

func middle(from, endFrom, to, endTo int, same func(from, to int) bool) []pairing {
	rows, columns := endFrom-from, endTo-to
	if rows == 0 || columns == 0 || rows > mostCompared/columns {
		return between(from, endFrom, to, endTo)
	}
	// longest[i][j] is how many can stay of what begins at from+i and to+j.
	longest := make([][]int32, rows+1)
	for i := range longest {
		longest[i] = make([]int32, columns+1)
	}
	kept := make([]bool, rows*columns)
	for i, row := range slices.Backward(longest[:rows]) {
		for j := columns - 1; j >= 0; j-- {
			if same(from+i, to+j) {
				kept[i*columns+j] = true
				row[j] = longest[i+1][j+1] + 1
			} else {
				row[j] = max(longest[i+1][j], row[j+1])
			}
		}
	}
	var steps []pairing
	lastI, lastJ, i, j := 0, 0, 0, 0
	for i < rows && j < columns {
		switch {
		case kept[i*columns+j]:
			steps = append(steps, between(from+lastI, from+i, to+lastJ, to+j)...)
			steps = append(steps, pairing{from + i, to + j})
			i, j = i+1, j+1
			lastI, lastJ = i, j
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return append(steps, between(from+lastI, endFrom, to+lastJ, endTo)...)
}

// between pairs in order.
func between(from, endFrom, to, endTo int) []pairing {
	var steps []pairing
	for from < endFrom || to < endTo {
		step := pairing{-1, -1}
		if from < endFrom {
			step.from = from
			from++
		}
		if to < endTo {
			step.to = to
			to++
		}
		steps = append(steps, step)
	}
	return steps
}
