package closure

import (
	"strings"
	"testing"
)

// base is a repository with a file of each kind.
func base() repository {
	return repository{
		"app/main.tf": module("net", "../modules/net"), "app/t.tftpl": "t", "app/link": "-> ../lib/one",
		"modules/net/main.tf": "", "modules/other/main.tf": "", "lib/one": "1", "lib/two": "2",
		"shared/a.yaml": "", "shared/b.json": "", "vars/a.tfvars": "", "vars/b.tfvars": "",
		".opentofu-version": "1.9.2",
		"app2/main.tf":      "", "README": "x",
	}
}

func wanted() Wanted {
	return Wanted{Path: "app", Triggers: []string{"shared/*.yaml", "none/*"}, VariableFiles: []string{"vars/a.tfvars"}}
}

// Each change is tested with empty caches, and with caches that have the answer before the change.
func TestTheDigestChangesOnlyWithFilesOfTheClosure(t *testing.T) {
	for name, tt := range map[string]struct {
		changes repository
		another bool
	}{
		"a file of the folder": {repository{"app/main.tf": module("net", "../modules/net") + "\n"},
			true},
		"another file of the folder":            {repository{"app/t.tftpl": "u"}, true},
		"a new file in the folder":              {repository{"app/x/y": "z"}, true},
		"a file deleted from the folder":        {repository{"app/t.tftpl": ""}, true},
		"a file renamed":                        {repository{"app/t.tftpl": "", "app/u.tftpl": "t"}, true},
		"a file set executable":                 {repository{"app/t.tftpl": "", "app/t.tftpl*": "t"}, true},
		"a file replaced by a symlink":          {repository{"app/t.tftpl": "-> t"}, true},
		"a module":                              {repository{"modules/net/main.tf": "#"}, true},
		"a new file in a module":                {repository{"modules/net/x": "#"}, true},
		"a document below a module":             {repository{"modules/net/docs/README.md": "#"}, true},
		"a document of the folder":              {repository{"app/README.md": "#"}, true},
		"a symlink's target":                    {repository{"lib/one": "x"}, true},
		"a file that a trigger matches":         {repository{"shared/a.yaml": "x"}, true},
		"a new file that a trigger matches":     {repository{"shared/c.yaml": "x"}, true},
		"the first file that a trigger matches": {repository{"none/x": "x"}, true},
		"a deleted file that a trigger matches": {repository{"shared/a.yaml": ""}, true},
		"a variable file":                       {repository{"vars/a.tfvars": "x"}, true},
		"the version file":                      {repository{".opentofu-version": "1.9.3"}, true},
		"a nearer version file":                 {repository{"app/.opentofu-version": "1.9.2"}, true},
		"the first version file of its kind":    {repository{".terraform-version": "1.5.7"}, true},

		"a document of a module": {repository{"modules/net/README.md": "x",
			"modules/net/LICENSE": "x"}, false},
		"a folder whose name begins with its":    {repository{"app2/main.tf": "x"}, false},
		"a new folder":                           {repository{"app3/main.tf": "x"}, false},
		"a module that is not called":            {repository{"modules/other/main.tf": "x"}, false},
		"a file beside one that a symlink names": {repository{"lib/two": "x"}, false},
		"a file that no trigger matches":         {repository{"shared/b.json": "x", "shared/x/d.yaml": "x"}, false},
		"another variable file":                  {repository{"vars/b.tfvars": "x"}, false},
		"a version file of another tool": {repository{".tool-versions": "x", ".terragrunt-version": "x"},
			false},
		"a version file that is not above":         {repository{"app2/.opentofu-version": "x"}, false},
		"a new file and a deleted one at the root": {repository{"LICENSE": "x", "README": ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			digest := func(r repository) string {
				tree, blobs := r.commit(t)
				digest, err := c.Digest(t.Context(), tree, blobs, wanted())
				if err != nil {
					t.Fatal(err)
				}
				if fresh := mustOf(t, r, wanted()).Digest; fresh != digest {
					t.Errorf("%s with caches, %s without", digest, fresh)
				}
				return digest
			}
			before := digest(base())
			after := digest(base().with(tt.changes))
			if (before != after) != tt.another {
				t.Errorf("%s became %s", before, after)
			}
			if digest(base()) != before {
				t.Error("the digest of the commit before has changed")
			}
		})
	}
}

// An answer in the cache is not valid once a path exists that did not exist when it was computed.
func TestACachedAnswerIsDroppedWhenAPathStartsToExist(t *testing.T) {
	for name, tt := range map[string]struct {
		repository repository
		wanted     Wanted
		changes    repository
	}{
		"a symlink whose target did not exist": {repository{"app/main.tf": "", "app/l": "-> ../x/y"},
			Wanted{Path: "app"}, repository{"x/y": "1"}},
		"a directory on the path that becomes a symlink": {
			repository{"app/main.tf": "", "app/l": "-> ../x/y", "x/z": "1", "w/y": "1"}, Wanted{Path: "app"},
			repository{"x/z": "", "x": "-> w"},
		},
		"a trigger's directory that becomes a symlink": {
			repository{"app/main.tf": "", "s/y": "1", "w/y": "1"}, Wanted{Path: "app", Triggers: []string{"s/y"}},
			repository{"s/y": "", "s": "-> w"},
		},
		"a directory above that has a version file behind a symlink": {
			repository{"a/app/main.tf": "", "a/.opentofu-version": "-> ../v", "v": "1.9.1"}, Wanted{Path: "a/app"},
			repository{"v": "1.9.2"},
		},
		"code behind a symlink": {
			repository{"app/main.tf": "-> ../v", "v": ""}, Wanted{Path: "app"}, repository{"v": "#"},
		},
		"any file, when a source is unknown": {
			repository{"app/main.tf": module("a", "../${var.a}")}, Wanted{Path: "app"}, repository{"b": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			var digests []string
			for _, r := range []repository{tt.repository, tt.repository.with(tt.changes)} {
				tree, blobs := r.commit(t)
				digest, err := c.Digest(t.Context(), tree, blobs, tt.wanted)
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, digest)
			}
			if digests[0] == digests[1] {
				t.Error("the digest is the same")
			}
		})
	}
}

func TestADeletedFileIsAnErrorDespiteTheCache(t *testing.T) {
	c := New(Options{})
	tree, blobs := base().commit(t)
	if _, err := c.Digest(t.Context(), tree, blobs, wanted()); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"modules/net/main.tf", "vars/a.tfvars"} {
		tree, blobs := base().with(repository{gone: ""}).commit(t)
		if _, err := c.Digest(t.Context(), tree, blobs, wanted()); err == nil {
			t.Errorf("%s is deleted, and the digest is no error", gone)
		}
	}
}

func TestTheOrderOfTriggersAndVariableFilesHasNoEffect(t *testing.T) {
	one := Wanted{Path: "app", Triggers: []string{"shared/*", "lib/*"},
		VariableFiles: []string{"vars/a.tfvars", "vars/b.tfvars"}}
	two := Wanted{Path: "/app", Triggers: []string{"lib/*", "./shared/*", "shared/*", "app/t.*"},
		VariableFiles: []string{"vars/b.tfvars", "vars/a.tfvars"}}
	if a, b := mustOf(t, base(), one).Digest, mustOf(t, base(), two).Digest; a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestTheSameContentInAnotherFolderHasAnotherDigest(t *testing.T) {
	r := repository{"a/main.tf": "", "b/main.tf": ""}
	all := []string{"**"}
	if a, b := mustOf(t, r, Wanted{Path: "a", Triggers: all}).Digest, mustOf(t, r, Wanted{Path: "b", Triggers: all}).
		Digest; a == b {
		t.Errorf("both are %s", a)
	}
}

func TestEachWantedHasItsOwnKey(t *testing.T) {
	seen := map[string]Wanted{}
	for _, w := range []Wanted{
		{}, {Path: "a"}, {Path: "a", Terragrunt: true}, {Triggers: []string{"a"}}, {VariableFiles: []string{"a"}},
		{Triggers: []string{"a", "b"}},
		{Triggers: []string{"a"}, VariableFiles: []string{"b"}}, {VariableFiles: []string{"a", "b"}},
		{Triggers: []string{"a1:b"}}, {Triggers: []string{"ab"}},
	} {
		if other, ok := seen[w.key()]; ok {
			t.Errorf("%+v and %+v have one key", w, other)
		}
		seen[w.key()] = w
	}
}

func TestCachedFilesAreNotReadTwice(t *testing.T) {
	c := New(Options{})
	tree, blobs := base().commit(t)
	for range 2 {
		if _, err := c.Of(t.Context(), tree, blobs, wanted()); err != nil {
			t.Fatal(err)
		}
	}
	first := blobs.reads.Load()
	tree, blobs = base().with(repository{"app/t.tftpl": "u", "modules/net/x.tf": "#"}).commit(t)
	if _, err := c.Of(t.Context(), tree, blobs, wanted()); err != nil {
		t.Fatal(err)
	}
	if again := blobs.reads.Load(); first != 4 || again != 1 {
		t.Errorf("%d blobs were read, and %d more for one new file of code", first, again)
	}
}

func TestAnAnswerIsValidWhileItsGlobsMatchTheSameFiles(t *testing.T) {
	c := New(Options{})
	w := Wanted{Path: "app", Triggers: []string{"**/*.yaml"}}
	ask := func(r repository) *answer {
		tree, blobs := r.commit(t)
		a, err := c.answer(t.Context(), tree, blobs, w)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	before := ask(base())
	if ask(base().with(repository{"README": "y"})) != before {
		t.Error("it was computed again, though only a README changed")
	}
	if ask(base().with(repository{"shared/a.yaml": "y"})) == before {
		t.Error("it was not computed again")
	}
}

func TestADigestIsSHA256InHex(t *testing.T) {
	digest := mustOf(t, base(), wanted()).Digest
	if hex, ok := strings.CutPrefix(digest, "sha256:"); !ok || len(hex) != 64 {
		t.Errorf("got %s", digest)
	}
}
