package git

import (
	"testing"

	"cairn.dev/cairn/test/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
