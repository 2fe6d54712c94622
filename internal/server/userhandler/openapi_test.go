package userhandler_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/lifecycle/kinds/kindstest"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/userhandler"
	"cairn.dev/cairn/internal/userapi"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// endpoint describes a pattern, beside what follows from it.
type endpoint struct {
	summary string
	// query are its parameters, each with what it means.
	query map[string]string
	// answer is a value of what it answers with; nil for nothing.
	answer any
	// mime of the answer, when it is not JSON; body that of the request, with sent of that type when it is JSON.
	mime, body string
	sent       any
}

// means are the parameters that every list has; all others filter.
var means = map[string]string{
	"q":     "Only rows that contain all of these words, in any case.",
	"sort":  "The sort key, with - in front for descending order.",
	"limit": "The number of rows of a page: 1 to 500. Default: 50.",
	"after": "The value of next in the previous page.",
	"facet": "A field whose most frequent values are returned in facets, with their numbers. Repeat the " +
		"parameter for several fields.",
	"group": "The field by which rows are grouped, before they are sorted: one that filters, or label:KEY " +
		"for Stacks.",
	"collapsed": "The value of a group whose rows are left out. Repeat the parameter for several groups.",
	"label": "Only rows with this label, as key=value. Of several values of a key, one has to match; of " +
		"several keys, all.",
}

func lists(parameters []string) map[string]string {
	query := map[string]string{}
	for _, name := range parameters {
		query[name] = means[name]
		if query[name] == "" {
			query[name] = "Only rows with this value. Repeat the parameter for several values."
		}
	}
	return query
}

func endpoints() map[string]endpoint {
	all := map[string]endpoint{
		"GET /api/v1/me":           {summary: "The caller, as the server authenticated it.", answer: userapi.Me{}},
		"GET /api/v1/version":      {summary: "The version of the server.", answer: userapi.Build{}},
		"GET /api/v1/openapi.json": {summary: "This description, without authentication.", mime: "application/json"},
		"GET /api/v1/activity": {
			summary: "The number of Runs by result, in steps of time. Needs list on runs.", answer: userapi.Activity{},
			query: map[string]string{
				"since":     "How long ago the first step begins, for example 24h. Default: 168h.",
				"step":      "The duration of a step. Default: a 56th of since.",
				"namespace": "Only Runs of this namespace.",
			},
		},
		"GET /api/v1/changes": {
			summary: "Changes of the objects that the caller can list, as server-sent events: hello (Me) at the " +
				"beginning, change (Change), beat (every 20 seconds), and reset if the changes since Last-Event-ID " +
				"are not known: then read the lists again.",
			query: map[string]string{"after": "The ID of the event to continue from, for a client that cannot set " +
				"the header."}, mime: "text/event-stream", answer: userapi.Change{},
		},
		"GET /api/v1/namespaces/{namespace}/runs/{name}/plan": {
			summary: "The plan of a Run, without secrets. Needs get on runs/plan.", answer: plan.View{},
			query: map[string]string{"format": "view, text as the engine prints it, or json as the engine prints it; " +
				"all without secrets. Default: view."},
		},
		"GET /api/v1/namespaces/{namespace}/runs/{name}/logs": {
			summary: "The log of a Run. With Accept: text/event-stream it is a stream of events: log (LogPiece), and " +
				"end as the last one; their IDs are offsets. Needs get on runs/logs.",
			query: map[string]string{
				"attempt": "The number of an attempt. Default: all attempts.", "offset": "The number of bytes to skip.",
				"follow": "With true, the response continues until the Run ends.",
				"of": "With operations, what the apply of the attempt did to each resource, in place of its log: " +
					"lines of JSON with at, address, action (create, update or delete; a replacement is two) and " +
					"state (Started, Succeeded or Failed).",
			},
			mime: "text/plain",
		},
		"GET /api/v1/namespaces/{namespace}/states/{name}/versions/{version}": {
			summary: "A version of a state; current is the newest, rescued the one that an apply could not save. It " +
				"contains secrets in plain text. Needs pull on states.", mime: "application/json",
		},
		"GET /api/v1/namespaces/{namespace}/states/{name}/journal": {
			summary: "The journal of a state. Needs pull on states.", answer: userapi.Journal{}},
		"POST /api/v1/namespaces/{namespace}/states/{name}/versions": {
			summary: "Push the next version of a state. Needs push on states.", answer: userapi.StateVersion{},
			body: "application/json",
			query: map[string]string{"force": "With true, another lineage or serial is accepted.",
				"current": "The expected current version; 409 if another version is current."},
		},
		"POST /api/v1/namespaces/{namespace}/states/{name}/rollback": {
			summary: "Create a new version of a state with the content of an older one. Needs rollback on states.",
			answer:  userapi.StateVersion{},
			body:    "application/json", sent: userapi.Rollback{},
			query: map[string]string{"current": "The expected current version; 409 if another version is current."},
		},
		"POST /api/v1/namespaces/{namespace}/states/{name}/unlock": {
			summary: "Release the lock with that ID, whose holder has ended. Needs unlock on states.",
			body:    "application/json", sent: userapi.Unlock{},
		},
		"POST /api/v1/namespaces/{namespace}/states/{name}/restore": {
			summary: "Restore a state from a backup that needs a decision, or discard the backup. Needs " +
				"restore on states.", answer: userapi.StateVersion{},
			body: "application/json", sent: userapi.Restore{},
		},
		"POST /api/v1/namespaces/{namespace}/states/{name}/migrate": {
			summary: "Move a state to the storage that its Stack specifies now: into its backend with the next plan, " +
				"or to Cairn. Needs push on states.", answer: userapi.StateMove{},
			query: map[string]string{"current": "The expected current version; 409 if another version is current."},
		},
		"POST /api/v1/namespaces/{namespace}/states/{name}/recover": {
			summary: "Restore the encrypted state that a pod printed to its log. Needs recover on states.",
			answer:  userapi.StateVersion{}, body: "text/plain",
		},
	}
	addBackend(all)
	all["GET /api/v1/signin"] = endpoint{summary: "The ways to sign in with a browser, without authentication.",
		answer: userapi.SignIn{}}
	all["POST /api/v1/session"] = endpoint{
		summary: "Sign in with a token that Kubernetes accepts. The response sets the cookie of the session. 401 if " +
			"the token is not valid.", body: "application/json", sent: userapi.Session{},
	}
	all["DELETE /api/v1/session"] = endpoint{summary: "Sign out."}
	addActions(all)
	for _, k := range kinds.All {
		addKind(all, k)
	}
	inventory := endpoint{
		summary: "The resources in the states of all namespaces in which the caller can pull every state, without " +
			"values. Needs pull on states.",
		query: lists(listing.Resources.Parameters()), answer: userapi.Resources{},
	}
	all["GET /api/v1/resources"] = inventory
	inventory.summary = "The resources in the states of a namespace, without values. Needs pull on states."
	all["GET /api/v1/namespaces/{namespace}/resources"] = inventory
	return all
}

// addBackend describes what an engine asks by its http backend.
func addBackend(all map[string]endpoint) {
	const path, password = " /api/v1/namespaces/{namespace}/states/{name}/backend", " The bearer token can also be " +
		"the password of basic authentication."
	all["GET"+path] = endpoint{
		summary: "The current version of a state for a user's engine, by the protocol of the http backend; 404 if " +
			"the Stack has none yet. Needs pull on states." + password,
		mime: "application/json",
	}
	all["POST"+path] = endpoint{
		summary: "Write the next version of a state under the user's lock; 423 without it, 409 if the lineage " +
			"differs or the serial does not increase. Needs push on states." + password,
		query: map[string]string{"ID": "The ID of the lock."}, body: "application/json", answer: userapi.StateVersion{},
	}
	all["LOCK"+path] = endpoint{
		summary: "Lock a state for a user's engine. The body and the response are the lock's info as engines write " +
			"it; 423 with the info of the lock that is held. Needs push on states." + password,
		body: "application/json", mime: "application/json",
	}
	all["UNLOCK"+path] = endpoint{
		summary: "Release the lock that the body names; without a body, the one that is held. Needs push on states " +
			"for a lock of the caller, and unlock for any other." + password,
		body: "application/json",
	}
	all["DELETE"+path] = endpoint{summary: "Always 405: a state is deleted with its Stack. Needs push on states."}
}

func addActions(all map[string]endpoint) {
	const ns = "/api/v1/namespaces/{namespace}/"
	run, stack := detailOf(kinds.Runs), detailOf(kinds.Stacks)
	const own = " The server writes it as the caller, who needs patch and "
	all["POST "+ns+"runs/{name}/approve"] = endpoint{
		summary: "Approve one plan of a Run, by its digest; 409 if the Run has another plan now." + own +
			"approve on runs.", answer: run, body: "application/json", sent: userapi.Approval{},
	}
	all["POST "+ns+"runs/{name}/reject"] = endpoint{
		summary: "Reject one plan of a Run, by its digest; 409 if the Run has another plan now." + own +
			"reject on runs.", answer: run, body: "application/json", sent: userapi.Rejection{},
	}
	all["POST "+ns+"runs/{name}/cancel"] = endpoint{summary: "Cancel a Run." + own + "cancel on runs.", answer: run}
	for name, what := range map[string][2]string{
		"plan": {"Request a Run that only plans.", "plan"}, "apply": {"Request a Run.", "apply"},
		"destroy": {"Request a Run that destroys all resources.", "destroy"},
		"retry": {"Request a Run that retries the apply or destroy that failed or was canceled; 409 if " +
			"there is none.", "apply or destroy"},
		"suspend": {"Suspend a Stack: no new Run starts.", "update"}, "resume": {"Resume a suspended Stack.", "update"},
	} {
		all["POST "+ns+"stacks/{name}/"+name] = endpoint{summary: what[0] + own + what[1] + " on stacks.",
			answer: stack}
	}
	retry := all["POST "+ns+"stacks/{name}/retry"]
	retry.query = map[string]string{"operation": "Apply or Destroy: what you read that is retried; 409 if it is " +
		"another operation now. Default: Apply."}
	all["POST "+ns+"stacks/{name}/retry"] = retry
	all["POST "+ns+"driftpauses/{name}/resume"] = endpoint{
		summary: "Resume the corrections of drift in a namespace; 409 if they are not paused." + own +
			"resume on driftpauses.", answer: detailOf(kinds.DriftPauses),
	}
	all["POST "+ns+"pipelines/{name}/promote"] = endpoint{
		summary: "Promote a release to a stage of a Pipeline; 409 if that is not possible now." + own +
			"promote on pipelines.", answer: detailOf(kinds.Pipelines),
		body: "application/json", sent: userapi.Promotion{},
	}
	all["POST "+ns+"repositories/{name}/fetch"] = endpoint{
		summary: "Fetch a Repository now. The request is written as the caller, who needs patch on repositories.",
		answer:  detailOf(kinds.Repositories),
	}
}

// detailOf is the answer about an object of a kind.
func detailOf(k kinds.Kind) any { return k.Detail(k.New()) }

func addKind(all map[string]endpoint, k kinds.Kind) {
	const ns = "/api/v1/namespaces/{namespace}/"
	kind, one := k.Named().Resource(), "a "+k.Named().Kind
	page, err := k.Select(nil, nil)
	if err != nil {
		panic(err)
	}
	list := endpoint{
		summary: "The " + kind + " of all namespaces in which the caller can list them. Needs list on " + kind + ".",
		query:   lists(k.Parameters()), answer: page,
	}
	all["GET /api/v1/"+kind] = list
	list.summary = "The " + kind + " of a namespace. Needs list on " + kind + "."
	all["GET "+ns+kind] = list
	all["GET "+ns+kind+"/{name}"] = endpoint{
		summary: "One of the " + kind + ", with the whole object. Needs get on " + kind + ".", answer: detailOf(k),
	}
	all["GET "+ns+kind+"/{name}/access"] = endpoint{
		summary: "The actions on " + one + " that the roles of the caller allow, in any phase. Needs get on " +
			kind + ".",
		answer: userapi.Access{},
	}
	all["GET "+ns+kind+"/{name}/events"] = endpoint{
		summary: "The events of " + one + ", the newest first. Needs get on " + kind + ".", answer: userapi.Events{},
	}
}

// The description that is served is what is answered: it has each pattern, and the types' own names and comments.
func TestOpenAPI(t *testing.T) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(describe(t)); err != nil {
		t.Fatal(err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(text.Bytes(), userhandler.OpenAPI) {
		t.Error("openapi.json is not what the server answers now: go test ./internal/server/userhandler -run " +
			"OpenAPI -update")
	}
}

// A kind is described once it is registered.
func TestRegisteredKindIsDescribed(t *testing.T) {
	kindstest.Register(t)
	doc := describe(t)
	for _, path := range []string{"", "/{name}", "/{name}/events", "/{name}/access"} {
		if doc.Paths.Value("/api/v1/namespaces/{namespace}/configmaps"+path) == nil {
			t.Errorf("configmaps%s is not described", path)
		}
	}
	if list := doc.Paths.Value("/api/v1/configmaps"); list == nil ||
		list.Get.Parameters.GetByInAndName("query", "immutable") == nil {
		t.Error("the filter of configmaps is not described")
	}
	if page := doc.Components.Schemas["PageOfRow"]; page == nil ||
		page.Value.Properties["items"].Value.Items.Ref != "#/components/schemas/Row" {
		t.Error("the rows of configmaps are not described")
	}
}

// describe returns the description of the routes.
func describe(t *testing.T) *openapi3.T {
	t.Helper()
	all := endpoints()
	d := describer{comments: comments(t, "../../userapi", "../../engine/plan"), schemas: openapi3.Schemas{},
		types: map[string]reflect.Type{}}
	doc := &openapi3.T{
		OpenAPI: "3.0.3",
		Info: &openapi3.Info{Title: "Cairn", Version: "v1",
			Description: "The API of Cairn's server for users. A request is authenticated by a bearer token or a " +
				"client certificate that Kubernetes accepts, or by the cookie of a session. Roles of Kubernetes " +
				"authorize it."},
		Paths: openapi3.NewPaths(),
		Components: &openapi3.Components{Schemas: d.schemas,
			SecuritySchemes: openapi3.SecuritySchemes{"token": {Value: openapi3.NewJWTSecurityScheme()},
				"session": {Value: openapi3.NewSecurityScheme().WithType("apiKey").WithIn("cookie").
					WithName("__Host-cairn")}}},
		Security: openapi3.SecurityRequirements{{"token": {}}, {"session": {}}},
	}
	for _, pattern := range userhandler.Patterns() {
		e, ok := all[pattern]
		if !ok {
			t.Errorf("%s is not described", pattern)
			continue
		}
		delete(all, pattern)
		method, path, _ := strings.Cut(pattern, " ")
		item := doc.Paths.Find(path)
		if item == nil {
			item = &openapi3.PathItem{}
			doc.Paths.Set(path, item)
		}
		if method == "LOCK" || method == "UNLOCK" { // which OpenAPI 3.0 does not know
			if item.Extensions == nil {
				item.Extensions = map[string]any{}
			}
			item.Extensions["x-"+strings.ToLower(method)] = d.operation(path, e)
			continue
		}
		item.SetOperation(method, d.operation(path, e))
	}
	for pattern := range all {
		t.Errorf("%s is described, and not there", pattern)
	}
	return doc
}

// describer writes types as schemas.
type describer struct {
	// comments are the doc comments of types as package.Type, and of fields as package.Type.Field.
	comments map[string]string
	schemas  openapi3.Schemas
	// types are those of the schemas.
	types map[string]reflect.Type
}

var inPath = regexp.MustCompile(`{([a-z]+)}`)

func (d describer) operation(path string, e endpoint) *openapi3.Operation {
	op := &openapi3.Operation{Summary: e.summary, Responses: openapi3.NewResponses()}
	for _, found := range inPath.FindAllStringSubmatch(path, -1) {
		op.AddParameter(openapi3.NewPathParameter(found[1]).WithSchema(openapi3.NewStringSchema()))
	}
	var names []string
	for name := range e.query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		op.AddParameter(openapi3.NewQueryParameter(name).WithDescription(e.query[name]).
			WithSchema(openapi3.NewStringSchema()))
	}
	switch {
	case e.sent != nil:
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).WithJSONSchemaRef(
			d.schema(reflect.TypeOf(e.sent)))}
	case e.body != "":
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).
			WithContent(openapi3.Content{e.body: openapi3.NewMediaType()})}
	}
	ok, status := openapi3.NewResponse().WithDescription("Success."), http.StatusOK
	switch {
	case e.mime != "":
		ok.Content = openapi3.Content{e.mime: openapi3.NewMediaType()}
		if e.answer != nil {
			d.schema(reflect.TypeOf(e.answer))
		}
	case e.answer != nil:
		ok.WithJSONSchemaRef(d.schema(reflect.TypeOf(e.answer)))
	default:
		status = http.StatusNoContent
	}
	op.AddResponse(status, ok)
	op.Responses.Set("default",
		&openapi3.ResponseRef{Value: openapi3.NewResponse().WithDescription("Error, as in RFC 9457.").
			WithContent(openapi3.Content{"application/problem+json": openapi3.NewMediaType().WithSchemaRef(
				d.schema(reflect.TypeOf(userapi.Problem{})))})})
	return op
}

// inName matches what the name of a generic type has and that of its schema has not: the packages, and the objects of
// Kubernetes, which are described there.
var inName = regexp.MustCompile(`,.*|[\w./]+/[\w]+\.|\]`)

func nameOf(t reflect.Type) string {
	return strings.ReplaceAll(inName.ReplaceAllString(t.Name(), ""), "[", "Of")
}

// isObject reports whether a type is one of Kubernetes.
func isObject(t reflect.Type) bool { return t.Implements(reflect.TypeFor[client.Object]()) }

func (d describer) schema(t reflect.Type) *openapi3.SchemaRef {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return openapi3.NewDateTimeSchema().NewRef()
	case t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface:
		return openapi3.NewSchema().NewRef()
	case isObject(t):
		return openapi3.NewObjectSchema().WithAnyAdditionalProperties().NewRef()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return openapi3.NewBytesSchema().NewRef()
		}
		array := openapi3.NewArraySchema()
		array.Items = d.schema(t.Elem())
		return array.NewRef()
	case reflect.Map:
		return openapi3.NewObjectSchema().WithAnyAdditionalProperties().NewRef()
	case reflect.Bool:
		return openapi3.NewBoolSchema().NewRef()
	case reflect.String:
		return openapi3.NewStringSchema().NewRef()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return openapi3.NewInt64Schema().NewRef()
	case reflect.Float64:
		return openapi3.NewFloat64Schema().NewRef()
	}
	name := nameOf(t)
	if other := d.types[name]; other != nil && other != t { // two packages have one of that name
		pkg := path.Base(t.PkgPath())
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if d.schemas[name] == nil {
		s := openapi3.NewObjectSchema()
		d.types[name] = t
		d.schemas[name] = s.NewRef()
		s.Description = d.comments[commentOf(t)]
		d.fields(s, t)
	}
	return openapi3.NewSchemaRef("#/components/schemas/"+name, nil)
}

func (d describer) fields(s *openapi3.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			d.fields(s, f.Type)
			continue
		case !f.IsExported() || tag == "-":
			continue
		}
		ref := d.schema(f.Type)
		if comment := d.comments[commentOf(t)+"."+f.Name]; comment != "" && ref.Ref == "" {
			ref.Value.Description = comment
		}
		s.WithPropertyRef(tag, ref)
		if !strings.Contains(more, "omit") && f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map &&
			f.Type.Kind() != reflect.Interface && !isObject(f.Type) {
			s.Required = append(s.Required, tag)
		}
	}
}

// comments are those of types and fields of packages.
func comments(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range folders {
		packages, err := parser.ParseDir(token.NewFileSet(), folder, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments) //nolint:staticcheck // there are no build tags in them
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			ast.Inspect(p, func(n ast.Node) bool {
				declared, ok := n.(*ast.GenDecl)
				if !ok {
					return true
				}
				for _, s := range declared.Specs {
					named, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					found[path.Base(folder)+"."+named.Name.Name] = oneLine(declared.Doc.Text())
					if of, ok := named.Type.(*ast.StructType); ok {
						for _, f := range of.Fields.List {
							for _, name := range f.Names {
								found[path.Base(folder)+"."+named.Name.Name+"."+name.Name] = oneLine(f.Doc.Text())
							}
						}
					}
				}
				return false
			})
		}
	}
	return found
}

// commentOf is the key of a type's comment: two packages can have a type of one name.
func commentOf(t reflect.Type) string {
	return path.Base(t.PkgPath()) + "." + strings.SplitN(t.Name(), "[", 2)[0]
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
