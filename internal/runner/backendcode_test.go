package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/s3"
)

// ownBlock is a backend block that says all, and keeps the state at another key than spec.backend does.
func ownBlock(server *s3.Server, bucket string) string {
	return fmt.Sprintf(`terraform {
  backend "s3" {
    bucket         = %q
    key            = "of-the-code.tfstate"
    region         = %q
    access_key     = %q
    secret_key     = %q
    endpoints      = { s3 = %q }
    use_path_style = true

    skip_credentials_validation = true
    skip_requesting_account_id  = true
    skip_metadata_api_check     = true
  }
}
`, bucket, s3.Region, server.AccessKey, server.SecretKey, server.Endpoint)
}

func TestBackendOfTheStackReplacesThatOfTheCode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code func(*s3.Server) string
		kind string
		want string
	}{
		"code without a block keeps its state where spec.backend says": {
			code: func(*s3.Server) string { return "" }, want: "states/net.tfstate",
		},
		"a local backend is no block": {
			code: func(*s3.Server) string { return "terraform {\n  backend \"local\" {}\n}\n" },
			want: "states/net.tfstate",
		},
		"an empty block gets its arguments from spec.backend": {
			code: func(*s3.Server) string { return "terraform {\n  backend \"s3\" {}\n}\n" },
			want: "states/net.tfstate",
		},
		"the arguments of a block win, and add to those of spec.backend": {
			code: func(*s3.Server) string {
				return "terraform {\n  backend \"s3\" {\n    key = \"mine.tfstate\"\n  }\n}\n"
			}, want: "states/mine.tfstate",
		},
		"a whole block is taken alone, and its bucket is created": {
			code: func(s *s3.Server) string { return ownBlock(s, "code") }, want: "code/of-the-code.tfstate",
		},
		"a block of another type is taken alone": {
			code: func(s *s3.Server) string { return ownBlock(s, "there") }, kind: "pg",
			want: "there/of-the-code.tfstate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			server, b, inputs := aBucket(t, false)
			b.FromCode, b.Create = true, true
			if test.kind != "" {
				b.Type, b.Create, b.Config = test.kind, false, map[string]json.RawMessage{
					"schema_name": json.RawMessage(`"x"`)}
				if err := server.MakeBucket("there"); err != nil {
					t.Fatal(err)
				}
			}
			s.applied(s.inBackend(1, test.code(server)+two, b), inputs)
			var kept []string
			for _, bucket := range []string{"states", "code", "there"} {
				files, err := filepath.Glob(filepath.Join(server.Dir, bucket, "*.tfstate"))
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					kept = append(kept, bucket+"/"+filepath.Base(file))
				}
			}
			if strings.Join(kept, " ") != test.want {
				t.Errorf("the state is in %v", kept)
			}
		})
	}
}

// The bucket of the block may be another one.
func TestNothingIsCreatedForAnUnknownBackendBlock(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, false)
	b.FromCode, b.Create = true, true
	code := `variable "bucket" { default = "states" }
terraform {
  backend "s3" {
    bucket = var.bucket
  }
}
`
	p := run(t, s, inputs, s.inBackend(1, code+two, b))
	failure := s.done(1).Done.Failure
	if failure == nil || failure.Class != "ConfigurationError" ||
		!strings.Contains(p.output.String(),
			"nothing is created, since main.tf:3 has arguments that are not literals") {
		t.Errorf("%+v\n%s", failure, p.output)
	}
	if _, err := os.Stat(filepath.Join(server.Dir, "states")); err == nil {
		t.Error("a bucket was created")
	}
}
