// Command terraform-provider-failing fails as configured, so that what engines say about providers that fail can be
// recorded: see TestRecord.
package main

import (
	"context"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	make := func() provider.Provider { return failing{} }
	if err := providerserver.Serve(context.Background(), make,
		providerserver.ServeOpts{Address: "cairn.dev/test/failing"}); err != nil {
		log.Fatal(err)
	}
}

// how to fail. A summary of "crash" ends the provider.
type how struct {
	Summary types.String `tfsdk:"summary"`
	Detail  types.String `tfsdk:"detail"`
}

func (h how) fail(diags *diag.Diagnostics) {
	switch h.Summary.ValueString() {
	case "":
	case "crash":
		os.Stderr.WriteString("panic: as told\n\ngoroutine 1 [running]:\nmain.main()\n\t/failing/main.go:1 +0x1\n")
		os.Exit(2)
	default:
		diags.AddError(h.Summary.ValueString(), h.Detail.ValueString())
	}
}

type failing struct{}

func (failing) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "failing"
}

func (failing) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema.Attributes = map[string]providerschema.Attribute{
		"summary": providerschema.StringAttribute{Optional: true},
		"detail":  providerschema.StringAttribute{Optional: true},
	}
}

func (failing) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var h how
	r.Diagnostics.Append(q.Config.Get(ctx, &h)...)
	h.fail(&r.Diagnostics)
}

func (failing) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return read{} }}
}

func (failing) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return failingResource{} }}
}

type read struct{}

func (read) Metadata(_ context.Context, _ datasource.MetadataRequest, r *datasource.MetadataResponse) {
	r.TypeName = "failing_read"
}

func (read) Schema(_ context.Context, _ datasource.SchemaRequest, r *datasource.SchemaResponse) {
	r.Schema.Attributes = map[string]dataschema.Attribute{
		"summary": dataschema.StringAttribute{Optional: true}, "detail": dataschema.StringAttribute{Optional: true},
	}
}

func (read) Read(ctx context.Context, q datasource.ReadRequest, r *datasource.ReadResponse) {
	var h how
	r.Diagnostics.Append(q.Config.Get(ctx, &h)...)
	h.fail(&r.Diagnostics)
	r.Diagnostics.Append(r.State.Set(ctx, h)...)
}

type failingResource struct{}

func (failingResource) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = "failing_thing"
}

func (failingResource) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema.Attributes = map[string]resourceschema.Attribute{
		"summary": resourceschema.StringAttribute{Optional: true},
		"detail":  resourceschema.StringAttribute{Optional: true},
	}
}

func (failingResource) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var h how
	r.Diagnostics.Append(q.Config.Get(ctx, &h)...)
	h.fail(&r.Diagnostics)
	r.Diagnostics.Append(r.State.Set(ctx, h)...)
}

func (failingResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (failingResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (failingResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
