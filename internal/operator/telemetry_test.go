package operator

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
)

// allMetrics returns Cairn's metrics with their labels, as a process that is operator and server exports them.
func allMetrics(t *testing.T) map[string]string {
	t.Helper()
	exported, err := newTelemetry(t.Context(), Options{Operator: true, Server: true}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	countWrites(&rest.Config{}, exported.registry)
	for _, c := range []prometheus.Collector{&fleet{}, repository.NewMirrors(t.TempDir())} {
		if err := exported.registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	all := described(exported.registry)
	all["cairn_metacontroller_hooks_total"] = "hook, result" // of cairn-migrate hooks
	return all
}

var descPattern = regexp.MustCompile(`fqName: "([^"]+)", help: "(.*)", constLabels: \{\}, variableLabels: \{([^}]*)\}`)

// described returns the metrics of a collector with their labels.
func described(c prometheus.Collector) map[string]string {
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); c.Describe(descs) }()
	all := map[string]string{}
	for d := range descs {
		if m := descPattern.FindStringSubmatch(d.String()); m != nil {
			labels := strings.Split(m[3], ",")
			slices.Sort(labels)
			all[m[1]] = strings.Join(labels, ", ")
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMetricsAreDocumented(t *testing.T) {
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(cairn_[a-z_]+)` \\| [a-z]+ \\| ([a-z_, ]*) ?\\|").
		FindAllStringSubmatch(read(t, "docs/reference/metrics.md"), -1) {
		labels := strings.Split(strings.ReplaceAll(row[2], " ", ""), ",")
		slices.Sort(labels)
		documented[row[1]] = strings.Join(labels, ", ")
	}
	if diff := cmp.Diff(allMetrics(t), documented); diff != "" {
		t.Errorf("docs/reference/metrics.md (-is +documented):\n%s", diff)
	}
}

// TestLabelsHaveFewValues checks that no label has a value for each Stack, Run or user, which would create time series
// without limit.
func TestLabelsHaveFewValues(t *testing.T) {
	bounded := []string{
		"", "artifact", "cause", "class", "code", "direction", "folder", "git_provider", "hook", "method", "operation",
		"phase", "process", "ready", "reason", "resource", "result", "route", "shard", "step", "verb", "version",
	}
	gauges := described(&fleet{})
	gauges["cairn_repository_oldest_fetch_timestamp_seconds"] = "namespace"
	for name, labels := range allMetrics(t) {
		for _, label := range strings.Split(labels, ", ") {
			if _, gauge := gauges[name]; !slices.Contains(bounded, label) && (label != "namespace" || !gauge) {
				t.Errorf("%s has the label %q", name, label)
			}
		}
	}
}

// used returns the metrics of an expression. Histograms are used by their parts.
func used(expr string) []string {
	var names []string
	for _, name := range regexp.MustCompile(`\b(cairn|controller_runtime|workqueue|leader_election)_[a-z_]+`).
		FindAllString(expr, -1) {
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, part)
		}
		names = append(names, name)
	}
	return names
}

func TestDashboardUsesExistingMetrics(t *testing.T) {
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text := read(t, "charts/cairn/files/dashboard.json")
	if err := json.Unmarshal([]byte(text), &board); err != nil {
		t.Fatal(err)
	}
	known, shown, ids, panels := knownMetrics(t), map[string]bool{}, map[int]bool{}, map[string]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the ID %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if other := panels[target.Expr]; other != "" {
				t.Errorf("%s has the expression of %s: %s", p.Title, other, target.Expr)
			}
			panels[target.Expr] = p.Title
			for _, name := range used(target.Expr) {
				shown[name] = true
				if !known[name] {
					t.Errorf("%s uses %s, which does not exist", p.Title, name)
				}
			}
		}
	}
	for name := range allMetrics(t) {
		if !shown[name] {
			t.Errorf("%s is on no panel", name)
		}
	}
	for _, other := range []string{`"uid": "${datasource}"`, `"type": "datasource"`} {
		if !strings.Contains(text, other) {
			t.Errorf("no %s", other)
		}
	}
}

func TestAlertsUseExistingMetricsAndHaveARunbook(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "charts/cairn/files/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	known, docs := knownMetrics(t), read(t, "docs/troubleshooting/alerts.md")
	for _, r := range file.Groups[0].Rules {
		names := used(r.Expr)
		if len(names) == 0 {
			t.Errorf("%s has no expression", r.Alert)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s uses %s, which does not exist", r.Alert, name)
			}
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description or a severity", r.Alert)
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "docs/troubleshooting/alerts.md#"+
			strings.ToLower(r.Alert)) || !strings.Contains(docs, "\n## "+r.Alert+"\n") {
			t.Errorf("%s links to %s, which docs/troubleshooting/alerts.md has to contain", r.Alert,
				r.Annotations["runbook_url"])
		}
		for _, reason := range v1alpha1.Reasons() {
			waits := reason.In&v1alpha1.InStack != 0 &&
				(reason.WaitsFor == v1alpha1.WaitsForApproval || reason.WaitsFor == v1alpha1.WaitsForDecision ||
					reason.WaitsFor == v1alpha1.WaitsForRequest || reason.WaitsFor == v1alpha1.WaitsForResume)
			if r.Alert == "CairnStackNotReady" && waits && !slices.Contains(reasonsIn(r.Expr), reason.Name) {
				t.Errorf("%s is about Stacks that wait for a decision of a user, with the reason %s", r.Alert,
					reason.Name)
			}
		}
		for _, reason := range reasonsIn(r.Expr) {
			if !isExported(reason) {
				t.Errorf("%s uses the reason %s, which is exported as Other", r.Alert, reason)
			}
		}
	}
	if len(file.Groups[0].Rules) < 10 {
		t.Errorf("%d alerts", len(file.Groups[0].Rules))
	}
}

// exprOf returns the expression of an alert.
func exprOf(t *testing.T, alert string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)- alert: ` + alert + `\n +expr: (.*)$`).FindStringSubmatch(
		read(t, "charts/cairn/files/alerts.yaml"))
	if m == nil {
		t.Fatalf("no alert %s", alert)
	}
	return m[1]
}

// TestAlertForMissingServers checks the alert while operators run, which export cairn_build_info too: without a server,
// runners cannot save states.
func TestAlertForMissingServers(t *testing.T) {
	m := regexp.MustCompile(`^absent\(cairn_build_info\{process=~"([a-z|]+)"\}\)$`).FindStringSubmatch(
		exprOf(t, "CairnDown"))
	if m == nil {
		t.Fatal("the alert does not fire while an operator runs")
	}
	for _, o := range []Options{{Operator: true, Server: true}, {Operator: true}, {Server: true}} {
		if matches := regexp.MustCompile("^(" + m[1] + ")$").MatchString(half(o)); matches != o.Server {
			t.Errorf("a process %s matches: %v", half(o), matches)
		}
	}
}

// TestAlertForAShardWithoutALeader checks that the leader of another shard, or of another installation, does not count.
func TestAlertForAShardWithoutALeader(t *testing.T) {
	exported := map[string]bool{}
	for _, f := range []*fleet{{leading: make(chan struct{})},
		{leading: make(chan struct{}), shard: Shard{Index: 1, Total: 2}}} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(f)
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "cairn_leader" {
			t.Fatal(err, families)
		}
		for _, label := range families[0].GetMetric()[0].GetLabel() {
			exported[label.GetName()+"="+label.GetValue()] = true
		}
	}
	if !exported["shard=0"] || !exported["shard=1"] {
		t.Errorf("the shards export %v", exported)
	}
	if want, got := "sum by (namespace, shard) (cairn_leader) == 0", exprOf(t, "CairnNoLeader"); !strings.HasSuffix(got,
		want) {
		t.Errorf("the leader of another shard counts: %s", got)
	}
}

// reasonsIn returns the reasons in an expression.
func reasonsIn(expr string) []string {
	m := regexp.MustCompile(`reason[!=~]+"([A-Za-z|]+)"`).FindStringSubmatch(expr)
	if m == nil {
		return nil
	}
	return strings.Split(m[1], "|")
}

// knownMetrics returns the metrics of Cairn and of controller-runtime.
func knownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, of := range []map[string]string{allMetrics(t), described(metrics.Registry.(prometheus.Collector))} {
		for name := range of {
			known[name] = true
		}
	}
	return known
}
