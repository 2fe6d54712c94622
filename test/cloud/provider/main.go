// Command provider is the provider cairn.dev/test/cloud, for tests. Package cairn.dev/cairn/test/cloud documents it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

func main() {
	if err := providerserver.Serve(context.Background(), newProvider,
		providerserver.ServeOpts{Address: "cairn.dev/test/cloud"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
