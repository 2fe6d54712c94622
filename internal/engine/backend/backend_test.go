package backend

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func values(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		kind   string
		config Config
		want   string
	}{
		"s3 with all arguments": {"s3", Config{Values: values(t, `{"bucket":"b","key":"k"}`)}, ""},
		"no bucket": {"s3", Config{Values: values(t, `{"key":"k"}`)},
			"backend s3 needs config.bucket"},
		"a bucket of a Secret": {"s3",
			Config{Values: values(t, `{"key":"k"}`), Secrets: map[string]string{"bucket": "b"}}, ""},
		"a Secret that is not read yet": {"s3", Config{More: true}, ""},
		"a secret in plain text": {"s3", Config{Values: values(t, `{"bucket":"b","key":"k","secret_key":"x"}`)},
			"config.secret_key is a secret"},
		"created by Cairn": {"s3", Config{Values: values(t, `{"bucket":"b","key":"k"}`), Create: true}, ""},
		"gcs created by Cairn": {"gcs", Config{Values: values(t, `{"bucket":"b"}`), Create: true},
			"create: Cairn creates buckets for s3 only"},
		"pg by the environment": {"pg", Config{}, ""},
		"pg in plain text": {"pg", Config{Values: values(t, `{"conn_str":"postgres://u:p@h/d"}`)},
			"config.conn_str is a secret"},
		"http by the environment": {"http", Config{Env: []string{"TF_HTTP_ADDRESS"}}, ""},
		"http without an address": {"http", Config{}, "backend http needs config.address"},
		"an unknown type":         {"oss", Config{Values: values(t, `{"anything":1}`)}, ""},
		"local":                   {"local", Config{}, "a local state is gone with its pod"},
		"cloud":                   {"cloud", Config{}, "backend cloud runs the engine elsewhere"},
	} {
		got := ""
		if err := Of(test.kind).Validate(test.config); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMergeWithTheBackendBlock(t *testing.T) {
	spec := Config{Values: values(t, `{"bucket":"b","key":"k"}`), Secrets: map[string]string{"access_key": "me"},
		Create: true}
	for name, test := range map[string]struct {
		block       map[string]json.RawMessage
		whole, rest string
		create      bool
	}{
		"an empty block": {nil, `{"bucket":"b","key":"k"} me`,
			`{"bucket":"b","key":"k"} me`, true},
		"an argument of the block wins": {values(t, `{"key":"mine"}`),
			`{"bucket":"b","key":"mine"} me`, `{"bucket":"b"} me`, true},
		"a complete block of the code": {values(t, `{"bucket":"c","key":"mine"}`),
			`{"bucket":"c","key":"mine"} `, `null `, true},
		"an argument of the block overrides a Secret": {values(t, `{"access_key":"you"}`),
			`{"access_key":"you","bucket":"b","key":"k"} `, `{"bucket":"b","key":"k"} `, true},
		"nothing is created for a value that is not known": {map[string]json.RawMessage{"bucket": nil},
			`{"key":"k"} me`, `{"key":"k"} me`, false},
	} {
		whole, rest := spec.Beside(Of("s3"), test.block)
		text := func(c Config) string {
			data, err := json.Marshal(c.Values)
			if err != nil {
				t.Fatal(err)
			}
			return string(data) + " " + c.Secrets["access_key"]
		}
		if text(whole) != test.whole || text(rest) != test.rest || whole.Create != test.create {
			t.Errorf("%s: %s, %s, %v", name, text(whole), text(rest), whole.Create)
		}
	}
	if len(spec.Values) != 2 || len(spec.Secrets) != 1 {
		t.Errorf("the arguments of the Stack were modified: %v", spec)
	}
}

func TestTypesAreUnique(t *testing.T) {
	var names []string
	for _, p := range All {
		names = append(names, p.Name())
	}
	if diff := cmp.Diff([]string{"s3", "gcs", "azurerm", "kubernetes", "pg", "http", "consul"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestRender(t *testing.T) {
	data, err := Render(Config{
		Values:  values(t, `{"bucket":"b","n":12345678901234567890,"on":true,"endpoints":{"s3":"${x}"},"list":["%{y}",null]}`),
		Secrets: map[string]string{"bucket": "secret", "password": `a"${b}`},
	})
	want := `{"bucket":"secret","endpoints":{"s3":"$${x}"},"list":["%%{y}",null],"n":12345678901234567890,"on":true,"password":"a\"$${b}"}`
	if err != nil || string(data) != want {
		t.Errorf("%s %v", data, err)
	}
	if _, err := Render(Config{Values: map[string]json.RawMessage{"x": json.RawMessage("{")}}); err == nil {
		t.Error("no error for invalid JSON")
	}
}

// TestCreateTable checks the requests to DynamoDB with a fake server.
func TestCreateTable(t *testing.T) {
	var requests []string
	created := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch call := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810."); {
		case r.Method == http.MethodHead: // the bucket
		case call == "DescribeTable" && !created:
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}`)
		case call == "DescribeTable":
			io.WriteString(w, `{"Table":{"TableName":"locks","TableStatus":"ACTIVE"}}`)
		default:
			requests, created = append(requests, call+" "+string(body)), true
			io.WriteString(w, `{"TableDescription":{"TableName":"locks","TableStatus":"CREATING"}}`)
		}
	}))
	t.Cleanup(server.Close)
	at, _ := json.Marshal(map[string]string{"s3": server.URL, "dynamodb": server.URL})
	c := Config{
		Values:  values(t, `{"bucket":"b","key":"k","region":"eu-west-1","use_path_style":true,"dynamodb_table":"locks","endpoints":`+string(at)+`}`),
		Secrets: map[string]string{"access_key": "me", "secret_key": "mine"},
	}
	lines, err := Of("s3").Ensure(t.Context(), c, nil)
	if diff := cmp.Diff([]string{"made table locks"}, lines); err != nil || diff != "" || len(requests) != 1 {
		t.Fatalf("%v %v %s", err, requests, diff)
	}
	want := map[string]any{
		"TableName": "locks", "BillingMode": "PAY_PER_REQUEST", "SSESpecification": map[string]any{"Enabled": true},
		"AttributeDefinitions": []any{map[string]any{"AttributeName": "LockID", "AttributeType": "S"}},
		"KeySchema":            []any{map[string]any{"AttributeName": "LockID", "KeyType": "HASH"}},
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(requests[0], "CreateTable ")), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if lines, err := Of("s3").Ensure(t.Context(), c, nil); err != nil || len(lines) > 0 || len(requests) != 1 {
		t.Errorf("an existing table was created: %v %v", lines, err)
	}
}

// TestCreateBucket checks the requests to S3 for a new bucket, and that an existing one is not changed.
func TestCreateBucket(t *testing.T) {
	var requests []string
	status := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodHead {
			w.WriteHeader(status)
			return
		}
		requests = append(requests, r.URL.RawQuery+" "+string(body))
		if strings.Contains(r.URL.RawQuery, "publicAccessBlock") {
			w.WriteHeader(http.StatusNotImplemented)
		}
	}))
	t.Cleanup(server.Close)
	at, _ := json.Marshal(map[string]string{"s3": server.URL})
	c := Config{Values: values(t, `{"bucket":"b","key":"k","region":"eu-west-1","use_path_style":true,"endpoints":`+
		string(at)+`}`)}
	environ := []string{"AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=mine"}
	lines, err := Of("s3").Ensure(t.Context(), c, environ)
	if diff := cmp.Diff([]string{"made bucket b", "this server cannot keep the public out of bucket b"},
		lines); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	all := strings.Join(requests, "\n")
	for _, want := range []string{"<LocationConstraint>eu-west-1<", "<Status>Enabled<", "<SSEAlgorithm>AES256<",
		"publicAccessBlock"} {
		if !strings.Contains(all, want) {
			t.Errorf("no request contains %s:\n%s", want, all)
		}
	}
	for _, there := range []int{http.StatusOK, http.StatusForbidden} {
		requests, status = nil, there
		lines, err := Of("s3").Ensure(t.Context(), c, environ)
		if (err != nil) != (there == http.StatusForbidden) || len(lines)+len(requests) > 0 {
			t.Errorf("%d: %v %v %v", there, lines, err, requests)
		}
	}
}
