// Command files is a provider for tests with data sources that read files of a checkout, under the names by which code
// uses the ones of hashicorp/external, hashicorp/archive and hashicorp/local: external, archive_file and local_file. It
// has those of their arguments that decide which files are read.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

func main() {
	options := providerserver.ServeOpts{Address: "cairn.dev/test/files"}
	if err := providerserver.Serve(context.Background(), newProvider, options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type filesProvider struct{}

func newProvider() provider.Provider { return filesProvider{} }

func (filesProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "files", "1.0.0"
}

func (filesProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (filesProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (filesProvider) Resources(context.Context) []func() resource.Resource { return nil }

func (filesProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return externalSource{} },
		func() datasource.DataSource { return archiveSource{} },
		func() datasource.DataSource { return fileSource{} },
	}
}
