package operator

import (
	"testing"

	"cairn.dev/cairn/internal/server"
)

func TestWhereTheServerIsIsToldUnlessItIsNotToBe(t *testing.T) {
	for _, publish := range []bool{true, false} {
		o := Options{PublicURL: "https://cairn.example.com", PublishEndpoint: publish}
		public, err := publicOf(o)
		if err != nil {
			t.Fatal(err)
		}
		want := server.Public{}
		if publish {
			want = server.Public{URL: "https://cairn.example.com", OwnCA: true}
		}
		if got := publishedEndpoint(o, public); got != want {
			t.Errorf("publish %v: %+v is told", publish, got)
		}
	}
}
