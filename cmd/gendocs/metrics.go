package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// metric is a metric of Cairn.
type metric struct {
	name, kind, help string
	labels           []string
}

// metricsPage returns a table of the metrics that the source registers. A test of internal/operator compares it with
// those that a process exports.
func metricsPage(repository fs.FS) (string, error) {
	var all []metric
	for _, folder := range []string{"internal", "migrate/metacontroller"} {
		err := fs.WalkDir(repository, folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			source, err := fs.ReadFile(repository, name)
			if err != nil {
				return err
			}
			found, err := metricsOf(name, source)
			all = append(all, found...)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	for _, k := range kinds.All {
		if k.ConditionsOf() != nil {
			all = append(all, metric{"cairn_" + k.Named().Resource(), "gauge", kinds.ReadyHelp(k),
				slices.Clone(kinds.ReadyLabels)})
		}
	}
	if len(all) < 30 {
		return "", fmt.Errorf("found %d metrics: are they written in another way now?", len(all))
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	var rows [][]string
	for _, m := range all {
		slices.Sort(m.labels)
		rows = append(rows, []string{"`" + m.name + "`", m.kind, strings.Join(m.labels, ", "), prose(stop(m.help))})
	}
	return table([]string{"Metric", "Type", "Labels", "Description"}, rows), nil
}

// metricsOf returns the metrics that a file creates.
func metricsOf(name string, source []byte) (all []metric, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if m := metricOf(call); m.help != "" {
				all = append(all, m)
			}
		}
		return true
	})
	return all, nil
}

// metricOf returns the metric that a call creates, without a help if it creates none.
func metricOf(call *ast.CallExpr) (m metric) {
	switch name := function(call.Fun); name {
	case "NewCounter", "NewCounterVec", "NewGauge", "NewGaugeVec", "NewHistogram", "NewHistogramVec":
		m.kind = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "New"), "Vec"))
		options, ok := call.Args[0].(*ast.CompositeLit)
		if !ok {
			return metric{}
		}
		for _, e := range options.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch function(field.Key) {
			case "Name":
				m.name = text(field.Value)
			case "Help":
				m.help = text(field.Value)
			}
		}
		if len(call.Args) > 1 {
			m.labels = texts(call.Args[1])
		}
	case "NewDesc": // its collector exports gauges
		if len(call.Args) == 4 {
			m = metric{text(call.Args[0]), "gauge", text(call.Args[1]), texts(call.Args[2])}
		}
	case "fleetDesc": // of internal/operator
		m = metric{name: "cairn_" + text(call.Args[0]), kind: "gauge", help: text(call.Args[1])}
		for _, label := range call.Args[2:] {
			m.labels = append(m.labels, text(label))
		}
	}
	return m
}

// function returns the name of a function, or of any identifier.
func function(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// text returns the value of a constant string of literals.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		if err == nil {
			return value
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return ""
}

// texts returns the values of a list of strings.
func texts(e ast.Expr) (values []string) {
	if list, ok := e.(*ast.CompositeLit); ok {
		for _, value := range list.Elts {
			values = append(values, text(value))
		}
	}
	return values
}
