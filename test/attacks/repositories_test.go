package attacks

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/closure"
)

var hostile = flag.Int("repositories", 20, "how many hostile repositories are generated")

const (
	// mostData is how much memory the process that reads the repositories has: as RSS, and half as much again as
	// RLIMIT_DATA, which also counts what is reserved and not used.
	mostData = 512 << 20
	// longest is how long the closure of one repository may take: the limit of work is some 20 seconds on an idle
	// machine.
	longest = 2 * time.Minute
	// workers read at the same time, as the controller of Stacks does.
	workers = 4
	child   = "CAIRN_ATTACKS_REPOSITORIES"
)

// The operator of all tenants reads each of these: it does not crash or hang, and needs no more memory than it has.
func TestHostileRepositoryNeitherCrashesNorHangs(t *testing.T) {
	if os.Getenv(child) != "" {
		readHostile(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostileRepositoryNeitherCrashesNorHangs$",
		"-test.v", "-test.timeout=0")
	// as the operator: its memory is measured
	cmd.Env = append(os.Environ(), child+"="+strconv.Itoa(*hostile), "GOGC=100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	if err != nil {
		t.Fatalf("the process that reads hostile repositories ends: %v\n%s", err, text[:min(len(text), 8000)])
	}
	state, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no resource usage")
	}
	peak := state.Maxrss << 10
	t.Logf("MEASURED %d hostile repositories: %d MiB RSS at most, of %d MiB\n%s", *hostile, peak>>20, mostData>>20,
		summary(text))
	if peak > mostData {
		t.Errorf("it takes %d MiB of memory, and %d are the limit", peak>>20, mostData>>20)
	}
}

func summary(text string) string {
	var found []string
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "SUMMARY"); at >= 0 {
			found = append(found, strings.TrimSpace(line[at:]))
		}
	}
	return strings.Join(found, "\n")
}

func readHostile(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(child))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA,
		&syscall.Rlimit{Cur: mostData / 2 * 3, Max: mostData / 2 * 3}); err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(mostData / 5 * 4) // as the operator does in a container with a limit
	c := closure.New(closure.Options{})
	reasons, slowest, of := make([]string, n), make([]time.Duration, n), make(chan int)
	go func() {
		defer close(of)
		for seed := range n {
			of <- seed
		}
	}()
	atOnce(workers, func(int) {
		for seed := range of {
			r, w := hostileRepository(rand.New(rand.NewPCG(uint64(seed), 21)))
			began := time.Now()
			reasons[seed] = readOne(t, c, seed, r, w)
			slowest[seed] = time.Since(began)
		}
	})
	counts, most, at := map[string]int{}, time.Duration(0), 0
	for seed, took := range slowest {
		counts[reasons[seed]]++
		if took > most {
			most, at = took, seed
		}
		if took > longest {
			t.Errorf("seed %d takes %v", seed, took)
		}
	}
	t.Logf("SUMMARY %v; the slowest is %d with %v", counts, at, most.Round(time.Millisecond))
}

// readOne reads one repository as the operator does, and as it reads a ConfigMap with the same files.
func readOne(t *testing.T, c *closure.Closures, seed int, r repository, w closure.Wanted) string {
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	tree, blobs, err := r.commit()
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return ""
	}
	found, err := c.Of(ctx, tree, blobs, w)
	if err != nil && closure.Reason(err) == "" {
		t.Errorf("seed %d: an error without a reason: %v", seed, err)
	}
	if err == nil {
		if digest, err := c.Digest(ctx, tree, blobs, w); err != nil || digest != found.Digest {
			t.Errorf("seed %d: another digest: %v", seed, err)
		}
	}
	files := map[string][]byte{}
	for name, text := range r {
		if inFolder, ok := strings.CutPrefix(name, "app/"); ok && len(text) < 1<<20 && len(files) < 10 {
			files[inFolder] = []byte(text)
		}
	}
	_, _ = c.Engine(ctx, files, w.Terragrunt)
	switch {
	case err != nil:
		return closure.Reason(err)
	case len(found.Open) > 0:
		return "whole repository"
	}
	return "closure"
}

// hostileRepository is a repository that was written to use memory or time.
func hostileRepository(random *rand.Rand) (repository, closure.Wanted) {
	r := repository{"app/main.tf": "", "README.md": "x"}
	w := closure.Wanted{Path: "app", Terragrunt: random.IntN(4) == 0}
	if w.Terragrunt {
		r["app/terragrunt.hcl"] = ""
	}
	for range 1 + random.IntN(4) {
		attack := hostilities[random.IntN(len(hostilities))]
		attack(random, r, &w)
	}
	return r, w
}

// name is that of a file of code in the folder, of any kind.
func name(random *rand.Rand, w *closure.Wanted) string {
	if w.Terragrunt && random.IntN(2) == 0 {
		return "app/terragrunt.hcl"
	}
	kinds := []string{".tf", ".tofu", ".tf", ".auto.tfvars"}
	return fmt.Sprintf("app/f%d%s", random.IntN(20), kinds[random.IntN(len(kinds))])
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// size is between 1 and most, small ones more often.
func size(random *rand.Rand, most int) int { return 1 + random.IntN(1+random.IntN(most)) }

var hostilities = []func(random *rand.Rand, r repository, w *closure.Wanted){
	func(random *rand.Rand, r repository, w *closure.Wanted) { // a token for each byte, up to a few MiB
		text := pick(random, "a=1\n", "a{}\n", "[", "(", "{", "\"${", "%{if a}", "!", "-1,", "\n", "<<A\n", "a?a:", "#",
			"\xff", "\x00", "a.", "}", "]")
		r[name(random, w)] = pick(random, "", "a = ", "a = [", "a = \"") + strings.Repeat(text, size(random, 600_000))
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // as much as is allowed
		all := shapes()
		r[name(random, w)] = all[pick(random, "attributes", "blocks", "objects", "texts", "paths", "locals", "a sum",
			"conditionals")]
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // JSON
		text := pick(random, "[],", "{},", "1,", `"",`, `"../a",`, `"${",`, `"${path.module}/../a",`)
		r["app/j.tf.json"] = `{"locals":{"a":[` + strings.Repeat(text, size(random, 100_000)) + `1]}}`
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // JSON that nests
		n := size(random, 12_000)
		r["app/n.tf.json"] = strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // locals that grow
		part := pick(random, "\"${local.a%[2]d}${local.a%[2]d}\"", "[local.a%[2]d, local.a%[2]d, \"..\"]",
			"local.a%[2]d", "{a = local.a%[2]d, b = local.a%[2]d}")
		text := "locals {\n a0 = \"../aaaaaaaaaaaaaaaa\"\n"
		for i := range size(random, 5000) {
			text += fmt.Sprintf(" a%[1]d = "+part+"\n", i+1, i)
		}
		r[name(random, w)] = text + "}\noutput \"o\" {\n value = local.a50\n}\n"
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // expressions that nest
		n := size(random, 900)
		deep := strings.Repeat("(", n) + pick(random, "local.a", `"../a"`, "path.module", `file("../${var.a}")`) +
			strings.Repeat(")", n)
		r[name(random, w)] = "locals {\n a = \"../x\"\n b = [" + strings.Repeat(deep+", ", size(random, 200)) +
			"1]\n}\n"
	},
	// paths with unknown parts, and files to compare them with
	func(random *rand.Rand, r repository, w *closure.Wanted) {
		for i := range size(random, 5000) {
			r[fmt.Sprintf("files/%d/%d", i%50, i)] = fmt.Sprint(i % 100)
		}
		text := ""
		for i := range size(random, 2000) {
			text += fmt.Sprintf("output \"o%d\" {\n value = file(\"../${var.x}/%d*\")\n}\n", i, i)
		}
		r[name(random, w)] = text
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // symlinks
		n := size(random, 300)
		for i := range n {
			r[fmt.Sprintf("app/links/l%d", i)] = "-> " + strings.Repeat("../links/", random.IntN(100)) + fmt.Sprintf(
				"l%d", (i+1)%n)
			r[fmt.Sprintf("app/c%d.tf", i)] = "-> ../code.tf"
		}
		r["code.tf"] = strings.Repeat("a {\n b = \"../${local.c}\"\n}\n", size(random, 5000))
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // deep folders with long names
		dir := "app"
		for range size(random, 300) {
			dir += "/" + strings.Repeat("d", 1+random.IntN(100))
		}
		r[dir+"/x.tf"] = ""
		text := ""
		for i := range size(random, 1000) {
			text += fmt.Sprintf("output \"o%d\" {\n value = file(\"../%s/%d\")\n}\n", i, dir[:min(len(dir), 3000)], i)
		}
		r["app/deep.tf"] = text
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // modules that call each other
		n := size(random, 1200)
		for i := range n {
			text := ""
			for range 3 {
				text += fmt.Sprintf("module \"m\" {\n source = \"../m%d\"\n}\n", random.IntN(n))
			}
			r[fmt.Sprintf("m/m%d/main.tf", i)] = text + strings.Repeat("# comment\n", random.IntN(200))
		}
		r["app/modules.tf"] = "module \"m\" {\n source = \"../m/m0\"\n}\n"
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // units that include and depend on each other
		w.Terragrunt = true
		n := size(random, 300)
		for i := range n {
			text := fmt.Sprintf("include \"a\" {\n path = \"../../c/%d.hcl\"\n}\n", random.IntN(n))
			for range 5 {
				text += fmt.Sprintf("dependency \"d\" {\n config_path = \"../u%d\"\n}\n", random.IntN(n))
			}
			r[fmt.Sprintf("u/u%d/terragrunt.hcl", i)] = text
			r[fmt.Sprintf("c/%d.hcl", i)] = fmt.Sprintf("include {\n path = \"%d.hcl\"\n}\nlocals {\n c = "+
				"read_terragrunt_config(\"%d.hcl\")\n}\n", random.IntN(n), random.IntN(n))
		}
		r["app/terragrunt.hcl"] = "dependency \"d\" {\n config_path = \"../u/u0\"\n}\n"
	},
	func(random *rand.Rand, _ repository, w *closure.Wanted) { // triggers
		for range size(random, 50) {
			w.Triggers = append(w.Triggers,
				strings.Repeat(pick(random, "**/", "*/", "{a,b}", "[!a]", "a/**/", "?", `\`), 1+random.IntN(200))+"*")
		}
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // large values
		r["app/large.auto.tfvars"] = strings.Repeat(pick(random, "a = \"../x\"\n", "..", "../", "# a\n", "a=1\n"),
			size(random, 500_000))
		r["app/run.sh"] = strings.Repeat("../a/", size(random, 50_000))
		r["app/run.tf"] = localExec("${path.module}/run.sh")
		w.VariableFiles = append(w.VariableFiles, "app/large.auto.tfvars")
	},
	func(random *rand.Rand, r repository, _ *closure.Wanted) { // version files
		r[pick(random, ".opentofu-version", "app/.terraform-version", ".terragrunt-version")] = strings.Repeat(
			pick(random, "1", "9.", ">= 1,", "\n", "latest:^"), size(random, 3000))
	},
	func(random *rand.Rand, r repository, w *closure.Wanted) { // noise in code
		text := []byte(strings.Repeat("module \"a\" {\n source = \"../a/${local.b}\"\n}\nlocals {\n b = "+
			"format(\"%s/..\", path.module)\n}\n", size(random, 2000)))
		for range size(random, 100) {
			text[random.IntN(len(text))] = byte(random.IntN(256))
		}
		r[name(random, w)] = string(text)
	},
}
