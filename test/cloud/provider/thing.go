package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// thingResource is cloud_thing.
type thingResource struct{ *client }

var (
	_ resource.ResourceWithConfigure   = &thingResource{}
	_ resource.ResourceWithImportState = &thingResource{}
)

type thingModel struct {
	ID              types.String `tfsdk:"id"`
	Name            types.String `tfsdk:"name"`
	Attributes      types.Map    `tfsdk:"attributes"`
	Secret          types.String `tfsdk:"secret"`
	Token           types.String `tfsdk:"token"`
	PasswordWO      types.String `tfsdk:"password_wo"`
	PasswordVersion types.Int64  `tfsdk:"password_wo_version"`
	ReplaceOn       types.String `tfsdk:"replace_on"`
	Parts           types.Int64  `tfsdk:"parts"`
	Part            types.List   `tfsdk:"part"`
}

var partType = types.ObjectType{AttrTypes: map[string]attr.Type{"number": types.Int64Type, "digest": types.StringType}}

func (*thingResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "cloud_thing"
}

func (*thingResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	same := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":         schema.StringAttribute{Computed: true, PlanModifiers: same},
		"name":       schema.StringAttribute{Required: true},
		"attributes": schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"secret":     schema.StringAttribute{Optional: true, Sensitive: true},
		"token": schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: same,
			Description: "A secret that the cloud creates."},
		"password_wo": schema.StringAttribute{
			Optional: true, WriteOnly: true, Description: "Sent when the resource is created, and when " +
				"password_wo_version changes.",
		},
		"password_wo_version": schema.Int64Attribute{Optional: true},
		"replace_on": schema.StringAttribute{
			Optional: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			Description: "Another value replaces the resource.",
		},
		"parts": schema.Int64Attribute{
			Optional: true, PlanModifiers: []planmodifier.Int64{int64planmodifier.RequiresReplace()},
			Description: "How many parts it has, each some 100 bytes of state.",
		},
		"part": schema.ListNestedAttribute{
			Computed: true, PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"number": schema.Int64Attribute{Computed: true},
				"digest": schema.StringAttribute{Computed: true},
			}},
		},
	}}
}

func (r *thingResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client) // nil before the provider is configured
}

func (r *thingResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("password_wo"), &m.PasswordWO)...)
	if resp.Diagnostics.HasError() {
		return
	}
	made, err := r.create(ctx, m.toCloud(ctx, &resp.Diagnostics))
	if err != nil {
		resp.Diagnostics.AddError("Cannot make "+m.Name.ValueString(), err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m.of(ctx, made, &resp.Diagnostics))...)
}

func (r *thingResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	t, err := r.read(ctx, m.ID.ValueString())
	if errors.Is(err, errNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot read "+m.ID.ValueString(), err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m.of(ctx, t, &resp.Diagnostics))...)
}

func (r *thingResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("password_wo"), &m.PasswordWO)...)
	if resp.Diagnostics.HasError() {
		return
	}
	changed, err := r.update(ctx, m.ID.ValueString(), m.toCloud(ctx, &resp.Diagnostics))
	if err != nil {
		resp.Diagnostics.AddError("Cannot change "+m.Name.ValueString(), err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m.of(ctx, changed, &resp.Diagnostics))...)
}

func (r *thingResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := r.delete(ctx, m.ID.ValueString()); err != nil {
		resp.Diagnostics.AddError("Cannot delete "+m.Name.ValueString(), err.Error())
	}
}

func (*thingResource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
}

// toCloud returns the resource to send to the cloud.
func (m thingModel) toCloud(ctx context.Context, diags *diag.Diagnostics) cloudResource {
	t := cloudResource{
		Name: m.Name.ValueString(), Secret: m.Secret.ValueString(), Password: m.PasswordWO.ValueString(),
		Keep: keep{ReplaceOn: m.ReplaceOn.ValueStringPointer(), Parts: m.Parts.ValueInt64Pointer(),
			PasswordVersion: m.PasswordVersion.ValueInt64Pointer()},
	}
	diags.Append(m.Attributes.ElementsAs(ctx, &t.Attributes, false)...)
	return t
}

// of returns the state of a resource. A value that is empty in the cloud remains null or empty as in the previous
// state.
func (m thingModel) of(ctx context.Context, t cloudResource, diags *diag.Diagnostics) thingModel {
	next := thingModel{
		ID: types.StringValue(t.ID), Name: types.StringValue(t.Name), Token: types.StringValue(t.Token),
		Secret: m.Secret, Attributes: m.Attributes, PasswordWO: types.StringNull(),
		ReplaceOn: types.StringPointerValue(t.Keep.ReplaceOn), Parts: types.Int64PointerValue(t.Keep.Parts),
		PasswordVersion: types.Int64PointerValue(t.Keep.PasswordVersion),
	}
	if t.Secret != m.Secret.ValueString() {
		next.Secret = types.StringValue(t.Secret)
	}
	if len(t.Attributes) > 0 || len(m.Attributes.Elements()) > 0 {
		var d diag.Diagnostics
		next.Attributes, d = types.MapValueFrom(ctx, types.StringType, t.Attributes)
		diags.Append(d...)
	}
	parts := make([]attr.Value, max(next.Parts.ValueInt64(), 0))
	for n := range parts {
		parts[n] = types.ObjectValueMust(partType.AttrTypes, map[string]attr.Value{
			"number": types.Int64Value(int64(n)),
			"digest": types.StringValue(fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, t.ID, n)))),
		})
	}
	next.Part = types.ListValueMust(partType, parts)
	return next
}
