package operator

import (
	"log/slog"
	"testing"

	"cairn.dev/cairn/internal/server"
)

func TestAddressOfTheServerIsPublished(t *testing.T) {
	for _, publish := range []bool{true, false} {
		o := Options{PublicURL: "https://cairn.example.com", PublishEndpoint: publish}
		at, err := endpointsOf(o, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		want := server.Public{}
		if publish {
			want = server.Public{URL: "https://cairn.example.com", OwnCA: true}
		}
		if at.published != want {
			t.Errorf("publish %v: %+v is published", publish, at.published)
		}
	}
}
