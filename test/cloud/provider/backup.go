package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// backupAction is the action cloud_backup: it creates a resource that no state has.
type backupAction struct{ *client }

var _ action.ActionWithConfigure = &backupAction{}

type backupModel struct {
	Name types.String `tfsdk:"name"`
}

func (*backupAction) Metadata(_ context.Context, _ action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = "cloud_backup"
}

func (*backupAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"name": schema.StringAttribute{Required: true}}}
}

func (a *backupAction) Configure(_ context.Context, req action.ConfigureRequest, _ *action.ConfigureResponse) {
	a.client, _ = req.ProviderData.(*client) // nil before the provider is configured
}

func (a *backupAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m backupModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if _, err := a.create(ctx, cloudResource{Name: m.Name.ValueString()}); err != nil {
		resp.Diagnostics.AddError("Cannot back up "+m.Name.ValueString(), err.Error())
	}
}
