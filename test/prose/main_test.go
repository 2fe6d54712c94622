package main

import "testing"

func TestTextsHaveTheirLines(t *testing.T) {
	source := "// Package a is a package.\npackage a\n\n//nolint:all // because\nvar a = \"too short\"\n\n// B is a " +
		"value.\nvar b = f(\"the Run %s has failed\", `first line of it\nsecond`)\n\ntype c struct {\n\td int " +
		"`json:\"not a text at all\"`\n}\n"
	for comments, want := range map[bool]string{
		false: "\n\n\n\n\n\n\nthe Run X has failed first line of it \nsecond \n\n\n\n\n",
		true: " Package a is a package. \n\n\n\n\n\n B is a value. \nthe Run X has failed first line of it " +
			"\nsecond \n\n\n\n\n",
	} {
		got, err := prose("a.go", []byte(source), true, comments)
		if err != nil || string(got) != want {
			t.Errorf("comments %v: %v\n%q, want\n%q", comments, err, got, want)
		}
	}
}

func TestScriptsHaveTheirComments(t *testing.T) {
	got := string(script([]byte("# First.\nexec x # no\n\n# Second.\n-- file --\n# no\n")))
	if want := " First.\n\n\n Second.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCommentsOfTests(t *testing.T) {
	got, err := prose("a_test.go", []byte("// A is.\npackage a\n\nvar a = \"more than three words\"\n"), false, true)
	if want := " A is. \n\n\n\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
}
