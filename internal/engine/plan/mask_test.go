package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/redact"
)

// masked returns the result of Mask for a document, with the word "known" as a known secret, and the secrets that it
// found.
func masked(t *testing.T, raw string) (document any, found []string) {
	t.Helper()
	hide := func(s string) string { return strings.ReplaceAll(s, "known", "***") }
	out, err := Mask([]byte(raw), hide, func(s string) { found = append(found, s) })
	if err != nil {
		t.Fatal(err)
	}
	if err := decode(out, &document); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	slices.Sort(found)
	return document, found
}

func TestMask(t *testing.T) {
	for _, test := range []struct {
		name, document, want string
		found                []string
	}{
		{"what is marked in a change",
			`"resource_changes":[{"change":{"before":null,"before_sensitive":false,"after":{"a":"s1","b":"x","n":5,"t":true,"null":null},"after_sensitive":{"a":true,"n":true,"t":true,"null":true}}}]`,
			`"resource_changes":[{"change":{"before":null,"before_sensitive":false,"after":{"a":"(sensitive value)","b":"x","n":"(sensitive value)","t":"(sensitive value)","null":null},"after_sensitive":{"a":true,"n":true,"t":true,"null":true}}}]`,
			[]string{"s1"}},
		{"different values remain different",
			`"output_changes":{"o":{"before":"s1","after":"s2","before_sensitive":true,"after_sensitive":true},"p":{"before":"s1","after":"s1","before_sensitive":true,"after_sensitive":true}}`,
			`"output_changes":{"o":{"before":"(sensitive value)","after":"(sensitive value, changed)","before_sensitive":true,"after_sensitive":true},"p":{"before":"(sensitive value)","after":"(sensitive value)","before_sensitive":true,"after_sensitive":true}}`,
			[]string{"s1", "s2"}},
		{"what is marked on one side",
			`"resource_drift":[{"change":{"before":{"a":"s1"},"before_sensitive":{},"after":{"a":"s1"},"after_sensitive":{"a":true}}}]`,
			`"resource_drift":[{"change":{"before":{"a":"(sensitive value)"},"before_sensitive":{},"after":{"a":"(sensitive value)"},"after_sensitive":{"a":true}}}]`,
			[]string{"s1"}},
		{"what is marked no longer",
			`"resource_changes":[{"change":{"before":{"a":"s1"},"before_sensitive":{"a":true},"after":{"a":"s2"},"after_sensitive":{}}}]`,
			`"resource_changes":[{"change":{"before":{"a":"(sensitive value)"},"before_sensitive":{"a":true},"after":{"a":"(sensitive value, changed)"},"after_sensitive":{}}}]`,
			[]string{"s1", "s2"}},
		{"marked values that are not known yet",
			`"resource_changes":[{"change":{"before":{"a":"s1"},"after":{},"before_sensitive":{},"after_sensitive":{"a":true}}}]`,
			`"resource_changes":[{"change":{"before":{"a":"(sensitive value)"},"after":{},"before_sensitive":{},"after_sensitive":{"a":true}}}]`,
			[]string{"s1"}},
		{"all of an object", `"resource_changes":[{"change":{"after":{"a":{"b":["s1",{"c":"s2"}],"d":7}},"after_sensitive":{"a":true}}}]`,
			`"resource_changes":[{"change":{"after":{"a":"(sensitive value)"},"after_sensitive":{"a":true}}}]`,
			[]string{"s1", "s2"}},
		{"elements of a list",
			`"resource_changes":[{"change":{"after":{"a":["x","s1","y"]},"after_sensitive":{"a":[false,true]}}}]`,
			`"resource_changes":[{"change":{"after":{"a":["x","(sensitive value)","y"]},"after_sensitive":{"a":[false,true]}}}]`, []string{"s1"}},
		{"marks that are of another form",
			`"resource_changes":[{"change":{"after":{"a":"s1","b":["s2"],"c":{"d":"s3"},"e":"s4","f":"x"},"after_sensitive":{"a":{"x":true},"b":{"0":true},"c":[true],"e":"yes","f":[false]}}}]`,
			`"resource_changes":[{"change":{"after":{"a":"(sensitive value)","b":"(sensitive value)","c":"(sensitive value)","e":"(sensitive value)","f":"x"},"after_sensitive":{"a":{"x":true},"b":{"0":true},"c":[true],"e":"yes","f":[false]}}}]`,
			[]string{"s1", "s2", "s3", "s4"}},
		{"states, in modules in modules",
			`"prior_state":{"values":{"outputs":{"values":{"sensitive":true,"value":"s1"}},"root_module":{"child_modules":[{"child_modules":[{"resources":[{"values":{"a":"s2"},"sensitive_values":{"a":true}}]}]}]}}},"planned_values":{"root_module":{"resources":[{"values":{"a":"s3"},"sensitive_values":{"a":true}}]}}`,
			`"prior_state":{"values":{"outputs":{"values":{"sensitive":true,"value":"(sensitive value)"}},"root_module":{"child_modules":[{"child_modules":[{"resources":[{"values":{"a":"(sensitive value)"},"sensitive_values":{"a":true}}]}]}]}}},"planned_values":{"root_module":{"resources":[{"values":{"a":"(sensitive value)"},"sensitive_values":{"a":true}}]}}`,
			[]string{"s1", "s2", "s3"}},
		{"variables, by their declaration",
			`"variables":{"s":{"value":"s1"},"e":{"value":["s2"]},"x":{"value":"x"},"undeclared":{"value":"s3"}},"configuration":{"root_module":{"variables":{"s":{"sensitive":true,"default":"s4"},"e":{"ephemeral":true},"x":{}}}}`,
			`"variables":{"s":{"value":"(sensitive value)"},"e":{"value":"(sensitive value)"},"x":{"value":"x"},"undeclared":{"value":"(sensitive value)"}},"configuration":{"root_module":{"variables":{"s":{"sensitive":true,"default":"(sensitive value)"},"e":{"ephemeral":true},"x":{}}}}`,
			[]string{"s1", "s2", "s3", "s4"}},
		{"variables of modules",
			`"configuration":{"root_module":{"module_calls":{"m":{"expressions":{"s":{"constant_value":"s1"},"x":{"constant_value":"x"}},"module":{"variables":{"s":{"sensitive":true,"default":"s2"},"x":{}}}}}}}`,
			`"configuration":{"root_module":{"module_calls":{"m":{"expressions":{"s":{"constant_value":"(sensitive value)"},"x":{"constant_value":"x"}},"module":{"variables":{"s":{"sensitive":true,"default":"(sensitive value)"},"x":{}}}}}}}`,
			[]string{"s1", "s2"}},
		{"outputs that have names of the format",
			`"output_changes":{"values":{"after":"s1","after_sensitive":true},"after":{"after":"s2","after_sensitive":true}}`,
			`"output_changes":{"values":{"after":"(sensitive value)","after_sensitive":true},"after":{"after":"(sensitive value)","after_sensitive":true}}`,
			[]string{"s1", "s2"}},
		{"actions that are invoked",
			`"action_invocations":[{"config_values":{"a":"s1"},"config_sensitive":{"a":true}}]`,
			`"action_invocations":[{"config_values":{"a":"(sensitive value)"},"config_sensitive":{"a":true}}]`,
			[]string{"s1"}},
		{"changes that are put off",
			`"deferred_changes":[{"reason":"x","resource_change":{"change":{"after":{"a":"s1"},"after_sensitive":{"a":true}}}}]`,
			`"deferred_changes":[{"reason":"x","resource_change":{"change":{"after":{"a":"(sensitive value)"},"after_sensitive":{"a":true}}}}]`, []string{"s1"}},
		{"known secrets, everywhere",
			`"resource_changes":[{"address":"a[\"known\"]","change":{"after":{"a":{"a known":["known"]}}}}],"checks":[{"problems":[{"message":"the known"}]}],"new in 1.9":{"known":1,"what":["known"]}`,
			`"resource_changes":[{"address":"a[\"***\"]","change":{"after":{"a":{"a ***":["***"]}}}}],"checks":[{"problems":[{"message":"the ***"}]}],"new in 1.9":{"***":1,"what":["***"]}`, nil},
		{"names in the code stay, which a secret may be",
			`"resource_changes":[{"address":"module.known[\"known\"].known.known[\"a known\"]","module_address":"module.known[\"known\"]","type":"known","name":"known","index":"known","change":{"before":{"known":"known"},"after":{"known":"x"}}}],"output_changes":{"known":{"after":"known"}},"variables":{"known":{"value":"known"}},"configuration":{"root_module":{"variables":{"known":{}}}}`,
			`"resource_changes":[{"address":"module.known[\"***\"].known.known[\"a ***\"]","module_address":"module.known[\"***\"]","type":"known","name":"known","index":"***","change":{"before":{"known":"***"},"after":{"known":"x"}}}],"output_changes":{"known":{"after":"***"}},"variables":{"known":{"value":"***"}},"configuration":{"root_module":{"variables":{"known":{}}}}`, nil},
		{"known secrets that differ",
			`"resource_changes":[{"change":{"before":{"a":"known"},"after":{"a":"knownknown"}}}]`,
			`"resource_changes":[{"change":{"before":{"a":"***"},"after":{"a":"******"}}}]`, nil},
		{"names that become equal", `"x":{"known":1,"***":2}`, `"x":{"***":2,"*** (2)":1}`, nil},
		{"numbers keep their digits",
			`"resource_changes":[{"change":{"after":{"a":12345678901234567890,"b":1.10,"c":1e400}}}]`,
			`"resource_changes":[{"change":{"after":{"a":12345678901234567890,"b":1.10,"c":1e400}}}]`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, found := masked(t, `{"format_version":"1.2",`+test.document+`}`)
			var want any
			if err := decode([]byte(`{"format_version":"1.2",`+test.want+`}`), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.found, found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDifferentSecretsRemainDifferent(t *testing.T) {
	out, err := Mask([]byte(`{"format_version":"1.2","resource_changes":[{"change":{"before":{"a":"s1"},"after":{"a":"s2"}}}]}`),
		func(s string) string { return strings.NewReplacer("s1", "***", "s2", "***").Replace(s) }, func(string) {})
	if err != nil || !strings.Contains(string(out), `"after":{"a":"*** (changed)"}`) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestSecretNumbersAreMasked(t *testing.T) {
	out, err := Mask([]byte(`{"format_version":"1.2","resource_changes":[{"change":{"before":{"pin":4711,"port":84711,"same":4711,"to":4711},"after":{"pin":44711,"port":80,"same":4711,"to":"x"}}}],`+
		`"planned_values":{"root_module":{"resources":[{"schema_version":4711,"values":{"l":[4711,4712]}}]}},"new in 1.9":{"n":4711}}`),
		func(s string) string { return strings.ReplaceAll(s, "4711", "***") }, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"format_version":"1.2","resource_changes":[{"change":{"before":{"pin":"(sensitive value)","port":"(sensitive value)","same":"(sensitive value)","to":"(sensitive value)"},"after":{"pin":"(sensitive value, changed)","port":80,"same":"(sensitive value)","to":"x"}}}],` +
		`"planned_values":{"root_module":{"resources":[{"schema_version":4711,"values":{"l":["(sensitive value)",4712]}}]}},"new in 1.9":{"n":"(sensitive value)"}}`
	var got, wanted any
	if err := errors.Join(decode(out, &got), decode([]byte(want), &wanted)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func TestMaskRejectsInvalidDocuments(t *testing.T) {
	for _, document := range []string{
		``, `{`, `null`, `[]`, `"canary"`, `{}`, `{"format_version":1}`, `{"format_version":"2.0"}`,
		`{"format_version":"x"}`,
		`{"format_version":"1.2","resource_changes":{"a":"canary"}}`,
		`{"format_version":"1.2","planned_values":["canary"]}`,
		`{"format_version":"1.2","prior_state":"canary"}`,
		`{"format_version":"1.2","output_changes":["canary"]}`,
		`{"format_version":"1.2","configuration":{"root_module":{"variables":["canary"]}}}`,
		`{"format_version":"1.2"} {"canary":1}`, `{"format_version":"1.2"}x`,
		`{"format_version":"1.2","a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		`{"format_version":"1.2","planned_values":{"root_module":` + strings.Repeat(`{"child_modules":[`,
			3000) + strings.Repeat("]}", 3000) + `}}`,
	} {
		out, err := Mask([]byte(document), func(s string) string { return s }, func(string) {})
		if err == nil {
			t.Errorf("%.80s: %.200s", document, out)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error contains the document: %v", err)
		}
	}
}

func TestMaskRemovesAllSecretsOfARecordedPlan(t *testing.T) {
	for _, name := range recorded(t) {
		raw := load(t, name+".json")
		if name == "sensitive" && bytes.Count(raw, []byte("canary")) < 20 {
			t.Fatal("the recording has no canaries")
		}
		out := mask(t, raw)
		if i := bytes.Index(out, []byte("canary")); i >= 0 {
			t.Errorf("%s: ...%s...", name, out[max(0, i-200):min(len(out), i+50)])
		}
		if again := mask(t, raw); !bytes.Equal(out, again) {
			t.Errorf("%s: masking twice has different results", name)
		}
		if twice := mask(t, out); !bytes.Equal(out, twice) {
			t.Errorf("%s: masking the result again changes it", name)
		}
	}
}

func TestViewOfAnUnmaskedPlanHasNoSecret(t *testing.T) {
	raw := load(t, "sensitive.json")
	view, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range view.Changes {
		for _, a := range c.Attributes {
			// The engine does not mark a value that a provider computes from a sensitive one.
			if data, _ := json.Marshal(a); bytes.Contains(data, []byte("canary")) &&
				!strings.HasPrefix(a.Path, "output") && a.Path != `input.key["k-canary-password-2"]` {
				t.Errorf("%s: %s", c.Address, data)
			}
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, name := range recorded(f) {
		f.Add(load(f, name+".json"))
	}
	f.Add([]byte(`{"format_version":"1.2","resource_changes":[{"change":{"after":{"a":["S3cret"]},"after_sensitive":{"a":[true]}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		secrets := redact.New()
		var found []string
		out, err := Mask(raw, secrets.String, func(s string) { secrets.Add(s); found = append(found, s) })
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %q", out)
		}
		again, err := Mask(raw, secrets.String, func(string) {})
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("not the same again: %q, %q, %v", out, again, err)
		}
		if view, err := Parse(out); err == nil {
			checkTerminal(t, view)
		}
	})
}

// large returns a plan with n changes.
func large(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"format_version":"1.2","terraform_version":"1.12.6","resource_changes":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"address":"module.net[\"a%d\"].aws_instance.b[%d]","module_address":"module.net[\"a%d\"]","mode":"managed","type":"aws_instance","name":"b","index":%d,"provider_name":"registry.opentofu.org/hashicorp/aws","change":{"actions":["update"],`, i, i, i, i)
		for _, side := range []string{"before", "after"} {
			fmt.Fprintf(&b, `"%s":{"ami":"ami-%d","arn":"arn:aws:ec2:eu-west-1:123456789012:instance/i-%d","password":"secret-%s-%d","tags":{"Name":"server-%d","Side":"%s"},"security_groups":["sg-1","sg-2","sg-3"],"root_block_device":[{"volume_size":%d,"encrypted":true,"kms":null}],"user_data":"%s"},"%s_sensitive":{"password":true,"tags":{},"security_groups":[false,false,false]},`,
				side, i, i, side, i%50, i, side, i, strings.Repeat("echo hello ", 20), side)
		}
		b.WriteString(`"after_unknown":{"tags":{},"public_ip":true}}}`)
	}
	b.WriteString(`],"configuration":{"root_module":{}}}`)
	return b.Bytes()
}

// BenchmarkMask32MiB measures a plan of the largest size: time, and in peak-MiB the memory in addition to the plan.
func BenchmarkMask32MiB(b *testing.B) {
	raw := large(1)
	raw = large(32 << 20 / len(raw))
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		secrets := redact.New()
		runtime.GC()
		var before, peak runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		_, err := Mask(raw, func(s string) string {
			if n++; n%50_000 == 0 {
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak.HeapInuse = max(peak.HeapInuse, now.HeapInuse)
			}
			return secrets.String(s)
		}, func(s string) { secrets.Add(s) })
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(peak.HeapInuse-before.HeapInuse)/(1<<20), "peak-MiB")
	}
}

func BenchmarkParse10000Changes(b *testing.B) {
	raw := large(10_000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if view, err := Parse(raw); err != nil || len(view.Changes) != 10_000 {
			b.Fatal(err)
		}
	}
}
