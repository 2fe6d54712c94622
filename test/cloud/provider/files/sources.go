package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// externalSource is data external: the JSON object that a program prints.
type externalSource struct{}

type externalModel struct {
	Program    []string          `tfsdk:"program"`
	Query      map[string]string `tfsdk:"query"`
	WorkingDir types.String      `tfsdk:"working_dir"`
	Result     map[string]string `tfsdk:"result"`
}

func (externalSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "external"
}

func (externalSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"program":     schema.ListAttribute{Required: true, ElementType: types.StringType},
		"query":       schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"working_dir": schema.StringAttribute{Optional: true},
		"result":      schema.MapAttribute{Computed: true, ElementType: types.StringType},
	}}
}

func (externalSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m externalModel
	read(ctx, req, resp, &m, func() error {
		query, err := json.Marshal(m.Query)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, m.Program[0], m.Program[1:]...)
		cmd.Dir, cmd.Stdin, cmd.Stderr = m.WorkingDir.ValueString(), bytes.NewReader(query), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		return json.Unmarshal(out, &m.Result)
	})
}

// archiveSource is data archive_file. It has the hash of an archive, and writes none.
type archiveSource struct{}

type archiveModel struct {
	Type       types.String `tfsdk:"type"`
	SourceDir  types.String `tfsdk:"source_dir"`
	SourceFile types.String `tfsdk:"source_file"`
	OutputPath types.String `tfsdk:"output_path"`
	OutputHash types.String `tfsdk:"output_sha256"`
}

func (archiveSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "archive_file"
}

func (archiveSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"type":          schema.StringAttribute{Required: true},
		"source_dir":    schema.StringAttribute{Optional: true},
		"source_file":   schema.StringAttribute{Optional: true},
		"output_path":   schema.StringAttribute{Required: true},
		"output_sha256": schema.StringAttribute{Computed: true},
	}}
}

func (archiveSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m archiveModel
	read(ctx, req, resp, &m, func() error {
		root := m.SourceDir.ValueString() + m.SourceFile.ValueString() // one of them is set
		hash := sha256.New()
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(name) //nolint:gosec // files of the test
			relative, _ := filepath.Rel(root, name)
			fmt.Fprintf(hash, "%s %d\n%s", relative, len(content), content)
			return err
		})
		m.OutputHash = types.StringValue(hex.EncodeToString(hash.Sum(nil)))
		return err
	})
}

// fileSource is data local_file.
type fileSource struct{}

type fileModel struct {
	Filename types.String `tfsdk:"filename"`
	Content  types.String `tfsdk:"content"`
}

func (fileSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "local_file"
}

func (fileSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"filename": schema.StringAttribute{Required: true},
		"content":  schema.StringAttribute{Computed: true},
	}}
}

func (fileSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m fileModel
	read(ctx, req, resp, &m, func() error {
		content, err := os.ReadFile(m.Filename.ValueString())
		m.Content = types.StringValue(string(content))
		return err
	})
}

// read reads the arguments into model, completes it with f, and stores it.
func read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse, model any, f func() error) {
	resp.Diagnostics.Append(req.Config.Get(ctx, model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := f(); err != nil {
		resp.Diagnostics.Append(diag.NewErrorDiagnostic("The files cannot be read", err.Error()))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}
