package runner

import (
	"testing"

	"cairn.dev/cairn/test/targz"
)

type entry = targz.Entry

func file(name, content string) entry { return targz.File(name, content) }

func link(name, to string) entry { return targz.Link(name, to) }

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	return targz.Archive(t, entries...)
}
