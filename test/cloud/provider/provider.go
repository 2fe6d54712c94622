package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type cloudProvider struct{}

var (
	_ provider.ProviderWithEphemeralResources = cloudProvider{}
	_ provider.ProviderWithActions            = cloudProvider{}
)

func newProvider() provider.Provider { return cloudProvider{} }

// settings are the provider's configuration.
type settings struct {
	URL     types.String `tfsdk:"url"`
	Caller  types.String `tfsdk:"caller"`
	Timeout types.String `tfsdk:"timeout"`
	Retries types.Int64  `tfsdk:"retries"`
}

func (cloudProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "cloud", "1.0.0"
}

func (cloudProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"url": schema.StringAttribute{Optional: true, Description: "Where the cloud is. Default: $CLOUD_URL."},
		"caller": schema.StringAttribute{Optional: true, Description: "Who calls, in the cloud's log. Default: " +
			"$CLOUD_CALLER, or the machine's name."},
		"timeout": schema.StringAttribute{Optional: true,
			Description: "How long one call may take. Default: $CLOUD_TIMEOUT, or 10m."},
		"retries": schema.Int64Attribute{Optional: true, Description: "How often a call is made again that the cloud " +
			"refused for now. Default: $CLOUD_RETRIES, or 5."},
	}}
}

func (cloudProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var s settings
	resp.Diagnostics.Append(req.Config.Get(ctx, &s)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := connect(s)
	if err != nil {
		resp.Diagnostics.AddError("The provider is not configured", err.Error())
		return
	}
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData, resp.ActionData = c, c, c, c
}

func connect(s settings) (*client, error) {
	host, _ := os.Hostname() // without one the log has no name
	timeout, err := time.ParseDuration(setting(s.Timeout, "CLOUD_TIMEOUT", "10m"))
	if err != nil {
		return nil, fmt.Errorf("timeout: %w", err)
	}
	retries := s.Retries.ValueInt64()
	if s.Retries.IsNull() {
		if retries, err = strconv.ParseInt(setting(types.StringNull(), "CLOUD_RETRIES", "5"), 10, 64); err != nil {
			return nil, fmt.Errorf("CLOUD_RETRIES: %w", err)
		}
	}
	c := &client{url: setting(s.URL, "CLOUD_URL", ""), caller: setting(s.Caller, "CLOUD_CALLER", host),
		retries: retries}
	c.http.Timeout = timeout
	if c.url == "" {
		return nil, errors.New("set url, or the variable CLOUD_URL, to where the cloud is")
	}
	return c, nil
}

func setting(configured types.String, variable, otherwise string) string {
	if v := configured.ValueString(); v != "" {
		return v
	}
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return otherwise
}

func (cloudProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &thingResource{} }}
}

func (cloudProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &thingsSource{} }}
}

func (cloudProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return &tokenResource{} }}
}

func (cloudProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &backupAction{} }}
}
