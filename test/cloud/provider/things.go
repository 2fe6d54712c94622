package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// thingsSource is data cloud_things: all resources.
type thingsSource struct{ *client }

var _ datasource.DataSourceWithConfigure = &thingsSource{}

type thingsModel struct {
	Things []listedModel `tfsdk:"things"`
}

type listedModel struct {
	ID         types.String      `tfsdk:"id"`
	Name       types.String      `tfsdk:"name"`
	Attributes map[string]string `tfsdk:"attributes"`
}

func (*thingsSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "cloud_things"
}

func (*thingsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"things": schema.ListNestedAttribute{Computed: true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"id":         schema.StringAttribute{Computed: true},
				"name":       schema.StringAttribute{Computed: true},
				"attributes": schema.MapAttribute{Computed: true, ElementType: types.StringType},
			}}},
	}}
}

func (d *thingsSource) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	d.client, _ = req.ProviderData.(*client)
}

func (d *thingsSource) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	all, err := d.list(ctx)
	if err != nil {
		resp.Diagnostics.AddError("Cannot list the resources", err.Error())
		return
	}
	m := thingsModel{Things: []listedModel{}}
	for _, t := range all {
		m.Things = append(m.Things, listedModel{ID: types.StringValue(t.ID), Name: types.StringValue(t.Name),
			Attributes: t.Attributes})
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}
