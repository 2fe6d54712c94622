package attacks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// read computes the closure of a Stack in the folder app.
func read(t *testing.T, c *closure.Closures, r repository, w closure.Wanted) (closure.Closure, error) {
	t.Helper()
	tree, files, err := r.commit()
	if err != nil {
		t.Fatal(err)
	}
	w.Path = "app"
	return c.Of(t.Context(), tree, files, w)
}

func rejects(t *testing.T, r repository, w closure.Wanted, message string) {
	t.Helper()
	_, err := read(t, closure.New(closure.Options{}), r, w)
	if closure.Reason(err) != "SourceTooLarge" || !strings.Contains(err.Error(), message) {
		t.Errorf("got %s: %v", closure.Reason(err), err)
	}
}

func TestCodeWithAMillionAttributesIsRejected(t *testing.T) {
	r := repository{"app/main.tf": "terraform {\n" + strings.Repeat("a=1\n", 1_000_000) + "}\n"}
	takesAtMost(t, mib(32), func() {
		rejects(t, r, closure.Wanted{}, "app/main.tf has 4000014 bytes, and the limit is 524288")
	})
}

func TestMemoryOfALargestFileOfTokensIsLimited(t *testing.T) {
	r := repository{"app/main.tf": strings.Repeat("\n", hclparse.MaxBytes)}
	takesAtMost(t, mib(256), func() { rejects(t, r, closure.Wanted{}, "tokens, and the limit is 150000: split it") })
}

// HCL's parser copies all lines of a text for each further one.
func TestMemoryOfATextOfManyLinesIsLimited(t *testing.T) {
	for name, text := range map[string]string{
		"heredoc": "a = <<E\n" + strings.Repeat("aaaaa\n", 80_000) + "E\n",
		"escapes": `a = "` + strings.Repeat("$$", 70_000) + "\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			takesAtMost(t, mib(160), func() {
				_, err := read(t, closure.New(closure.Options{}), repository{"app/main.tf": text}, closure.Wanted{})
				if name == "heredoc" && closure.Reason(err) != "SourceTooLarge" {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// shapes are files of code with as many tokens as are allowed.
func shapes() map[string]string {
	const most = hclparse.MaxTokens
	return map[string]string{
		"attributes":      lines(most/4-10, "a%d=1\n"),
		"blocks":          strings.Repeat("a{}\n", most/4-10),
		"objects":         "a={" + strings.Repeat("a=1,", most/4-10) + "}",
		"negative":        "a=[" + strings.Repeat("-1,", most/3-10) + "]",
		"texts":           "a=[" + strings.Repeat(`"",`, most/3-10) + "]",
		"conditionals":    "a=[" + strings.Repeat("a?a:a,", most/6-10) + "]",
		"a sum":           "a=1" + strings.Repeat("+1", most/2-10),
		"an error a line": strings.Repeat("a \n", most/2-10),
		"paths":           "a=[" + strings.Repeat(`"../a",`, most/4-10) + "]",
		"locals":          "locals {\n" + lines(most/6-10, "a%d=local.b\n") + "}\n",
	}
}

func TestMemoryOfCodeWithTheMostTokensIsLimited(t *testing.T) {
	for name, text := range shapes() {
		t.Run(name, func(t *testing.T) {
			takesAtMost(t, mib(160), func() {
				if _, err := read(t, closure.New(closure.Options{}), repository{"app/main.tf": text},
					closure.Wanted{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestMemoryOfJSONCodeWithTheMostValuesIsLimited(t *testing.T) {
	const most = hclparse.MaxTokens
	for name, text := range map[string]string{
		"numbers":          `{"a":[` + strings.Repeat("1,", most-10) + "1]}",
		"lists":            `{"a":[` + strings.Repeat("[],", most/2-10) + "1]}",
		"texts":            `{"a":[` + strings.Repeat(`"",`, most-10) + "1]}",
		"keys":             "{" + lines(40_000, `"%d":{},`) + `"a":1}`,
		"nesting of lists": `{"a":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}",
		"nesting of keys":  strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000),
	} {
		t.Run(name, func(t *testing.T) {
			takesAtMost(t, mib(160), func() {
				if _, err := read(t, closure.New(closure.Options{}), repository{"app/main.tf.json": text},
					closure.Wanted{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestTerragruntFileWithAMillionAttributesIsRejected(t *testing.T) {
	r := repository{"app/terragrunt.hcl": "locals {\n" + strings.Repeat("a=1\n", 1_000_000) + "}\n"}
	takesAtMost(t, mib(32), func() {
		rejects(t, r, closure.Wanted{Terragrunt: true}, "app/terragrunt.hcl has 4000011 bytes")
	})
}

func TestMemoryOfATerragruntFileWithTheMostTokensIsLimited(t *testing.T) {
	for name, text := range shapes() {
		t.Run(name, func(t *testing.T) {
			takesAtMost(t, mib(160), func() {
				r := repository{"app/terragrunt.hcl": text}
				if _, err := read(t, closure.New(closure.Options{}), r, closure.Wanted{Terragrunt: true}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestMemoryOfAVariableFileWithAMillionAttributesIsLimited(t *testing.T) {
	r := repository{"app/main.tf": "", "app/terraform.tfvars": strings.Repeat("a=1\n", 1_000_000)}
	takesAtMost(t, mib(64), func() {
		if _, err := read(t, closure.New(closure.Options{}), r, closure.Wanted{}); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryOfConcurrentParsesIsLimited(t *testing.T) {
	takesAtMost(t, mib(192), func() {
		atOnce(8, func(i int) {
			r := repository{"app/main.tf": fmt.Sprintf("b%d = 1\n", i) + shapes()["attributes"]}
			if _, err := read(t, closure.New(closure.Options{}), r, closure.Wanted{}); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestMemoryOfCodeCachesIsLimited(t *testing.T) {
	c := closure.New(closure.Options{CacheBytes: 4 << 20})
	retainsAtMost(t, mib(6), func() any {
		long := strings.Repeat("a", 400<<10)
		for i := range 25 {
			r := repository{
				"app/main.tf": fmt.Sprintf("# %d\nmodule %q {\n  source = \"../a\"\n}\n", i, fmt.Sprint(i)+long),
				"app/x.tf":    localExec("../a/run.sh"), "a/run.sh": fmt.Sprintf("%d ../%s", i, long[:200<<10]),
				"app/link": "-> " + fmt.Sprint(i) + long[:4000],
			}
			if _, err := read(t, c, r, closure.Wanted{}); err != nil {
				t.Error(err)
			}
		}
		for i := range 4 {
			unit := repository{"app/terragrunt.hcl": fmt.Sprintf("locals {\n a = %d\n%s}\n", i,
				lines(20_000, " b%d = [1]\n"))}
			if _, err := read(t, c, unit, closure.Wanted{Terragrunt: true}); err != nil {
				t.Error(err)
			}
		}
		return c
	})
}

func localExec(command string) string {
	return "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"" + command +
		"\"\n  }\n}\n"
}

func TestMemoryOfACommitWithTheMostFilesIsLimited(t *testing.T) {
	listing := lines(249_000, "100644 blob "+strings.Repeat("a", 40)+"\tdir/with/a/name/of/common/length/%06d.tf\x00")
	takesAtMost(t, mib(160), func() {
		if _, err := git.ParseTree("root", []byte(listing)); err != nil {
			t.Error(err)
		}
	})
}

func TestCommitWithAMillionFilesIsRejected(t *testing.T) {
	listing := lines(1_000_000, "100644 blob "+strings.Repeat("a", 40)+"\t%06d\x00")
	takesAtMost(t, mib(160), func() {
		if _, err := git.ParseTree("root", []byte(listing)); !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTooLargeVersionFileIsRejected(t *testing.T) {
	r := repository{"app/main.tf": "", ".opentofu-version": strings.Repeat("1", 8<<20)}
	takesAtMost(t, mib(24), func() {
		got, err := read(t, closure.New(closure.Options{}), r, closure.Wanted{})
		if err != nil || !strings.Contains(got.Engine.OpenTofu.Problem, "more than 4096 bytes") {
			t.Errorf("%+v, %v", got.Engine, err)
		}
	})
}
