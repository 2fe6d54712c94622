package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// tokenResource is ephemeral cloud_token: the token of a resource, which is not in the state or the plan.
type tokenResource struct{ *client }

var _ ephemeral.EphemeralResourceWithConfigure = &tokenResource{}

type tokenModel struct {
	ID    types.String `tfsdk:"id"`
	Token types.String `tfsdk:"token"`
}

func (*tokenResource) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = "cloud_token"
}

func (*tokenResource) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":    schema.StringAttribute{Required: true},
		"token": schema.StringAttribute{Computed: true, Sensitive: true},
	}}
}

func (r *tokenResource) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client)
}

func (r *tokenResource) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m tokenModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	t, err := r.read(ctx, m.ID.ValueString())
	if err != nil {
		resp.Diagnostics.AddError("Cannot read "+m.ID.ValueString(), err.Error())
		return
	}
	m.Token = types.StringValue(t.Token)
	resp.Diagnostics.Append(resp.Result.Set(ctx, m)...)
}
