package comment

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Format is what a Git provider shows.
type Format struct {
	// Limit is the maximum length of a comment in characters, counted in UTF-16.
	Limit int
	// Plain: the provider renders no HTML, so details are not folded.
	Plain bool
}

// marker returns the first line of the comment, which no provider shows.
func (id ID) marker(plain bool) string {
	const allowed = "-._"
	name := fmt.Sprintf("cairn:%s:%s:%d", escaped(id.Installation, allowed), escaped(id.Repository, allowed), id.Number)
	if id.Result {
		name += ":result"
	}
	if plain {
		return `[//]: # "` + name + `"`
	}
	return "<!-- " + name + " -->"
}

// IsMarked reports whether a comment begins with the marker of a pull request. Users can copy the marker, so its author
// has to be compared too.
func (id ID) IsMarked(comment string) bool {
	first, _, _ := strings.Cut(comment, "\n")
	first = strings.TrimRight(first, "\r ")
	return first == id.marker(false) || first == id.marker(true)
}

// Render returns the comment. It is never longer than the limit: the longest details are cut first, the table last.
func Render(pr PullRequest, f Format) string {
	d := newDocument(pr, f)
	fits := func(text string) bool { return size(text) <= f.Limit }
	for _, write := range []func() string{
		func() string { return d.write(d.share(), len(d.after)+len(d.rows)) },
		func() string {
			tooMany := sort.Search(len(d.after)+len(d.rows), func(rows int) bool { return !fits(d.write(0, rows)) })
			return d.write(0, max(0, tooMany-1))
		},
		func() string { return d.head },
		func() string { return pr.ID.marker(f.Plain) },
	} {
		if text := write(); fits(text) {
			return text
		}
	}
	return ""
}

// share returns the size to which details are cut, so that all fit together. Shorter ones leave their rest to the
// longer ones.
func (d *document) share() int {
	left := d.Limit - size(d.write(0, len(d.after)+len(d.rows)))
	var sizes []int
	for _, s := range slices.Concat(d.above, d.details) {
		sizes = append(sizes, s.size(d.Plain))
	}
	slices.Sort(sizes)
	for i, n := range sizes {
		share := left / (len(sizes) - i)
		if n > share {
			return share
		}
		left -= n
	}
	return d.Limit
}

// document is a comment before it is cut.
type document struct {
	Format
	// head are marker, summary and instructions.
	head string
	// above are sections above the table, and details those below it.
	above, details []section
	// after are the rows about what followed the merge, and rows those about plans, with a column about the merge if
	// onMerge is true.
	after, rows []string
	// afterTitle is the title of the column of the rows after, and plansBefore what the plans were before.
	afterTitle, plansBefore string

	onMerge bool
	url     string
}

// section is a heading with blocks of code.
type section struct {
	// title is Markdown, or HTML that can be folded, unless it is open.
	title, url string
	open       bool
	blocks     []block
}

// block is a block of code.
type block struct {
	language, fence string
	lines           []string
	// size of the whole block.
	size int
	// more lines are not here because they never fit.
	more int
}

func newBlock(language, text string, limit int) block {
	text = strings.Trim(text, "\n")
	b := block{language: language}
	for text != "" && b.size <= limit {
		var l string
		l, text, _ = strings.Cut(text, "\n")
		if language == "diff" {
			l = diff(l)
		}
		b.lines = append(b.lines, line(l))
		b.size += size(b.lines[len(b.lines)-1]) + 1
	}
	if text != "" {
		b.more = strings.Count(text, "\n") + 1
	}
	b.fence = backticks(strings.Join(b.lines, "\n"), 3)
	b.size += 2*len(b.fence) + len(language) + len("\n\n\n")
	return b
}

func newDocument(pr PullRequest, f Format) document {
	_, summary := pr.aggregate()
	d := document{Format: f, url: pr.URL}
	var head strings.Builder
	name, commit := "Head", pr.Head
	if pr.After != nil {
		name, commit = "Merge", pr.After.Commit
	}
	fmt.Fprintf(&head, "%s\n\n**Cairn**: %s %s %s, base %s.",
		pr.ID.marker(f.Plain), summary, name, span(commit), span(pr.Base))
	if l := link("web UI", pr.URL); l != "web UI" {
		head.WriteString(" See the " + l + ".")
	}
	head.WriteString("\n\n")
	if text := instructions[pr.Phase]; text != "" {
		head.WriteString(text + "\n\n")
	}
	if pr.Phase == v1alpha1.PullRequestAwaitingCommand {
		head.WriteString(span("/cairn plan "+pr.Head) + "\n\n")
	}
	if pr.Plans != "" {
		head.WriteString("A user with the verb `approve` on Runs can approve these plans, also for the merge, with " +
			"the comment:\n\n" +
			span("/cairn approve "+pr.Plans) + "\n\n")
	}
	if pr.Reviews {
		head.WriteString("An approving review of this head by a user with the verb `approve` on Runs approves the " +
			"plans that are here before it, also for the merge.\n\n")
	}
	if pr.Apply != "" {
		head.WriteString("A user with the verb `apply` on a Stack can apply its plan before the merge, with the " +
			"comment:\n\n" +
			span("/cairn apply "+pr.Apply) + "\n\n")
		for _, r := range pr.Requirements {
			line := fmt.Sprintf("%s: %s", r.Type, strings.ToLower(string(r.State)))
			if r.Message != "" {
				line += ". " + r.Message
			}
			head.WriteString("- It requires " + cell(line) + "\n")
		}
		if len(pr.Requirements) > 0 {
			head.WriteString("\n")
		}
	}
	if pr.Merge != nil {
		head.WriteString(pr.Merge.text() + "\n\n")
	}
	d.head = head.String()
	add(&d.above, section{title: "Reason", url: pr.URL}, newBlock("text", pr.Message, f.Limit))
	add(&d.above, section{title: "Last command", url: pr.URL}, newBlock("text", pr.Answer, f.Limit))
	var paths strings.Builder
	for _, line := range runinfo.UnplannedLines(pr.Unplanned) {
		paths.WriteString(plan.Escape(line) + "\n")
	}
	add(&d.above, section{title: "Not planned", url: pr.URL, open: true}, newBlock("text", paths.String(), f.Limit))
	d.addAfter(pr)
	for _, s := range pr.StackSets {
		d.addStackSet(pr, s)
	}
	d.addStacks(pr)
	if pr.MoreStackSets > 0 {
		add(&d.details, section{title: count(pr.MoreStackSets, "more StackSet", "more StackSets"), url: pr.URL},
			newBlock("text", "Their lists change too. The web UI and the status of the PullRequest do not list "+
				"them either.", d.Limit))
	}
	if n := len(pr.Skipped); n > 0 {
		title := fmt.Sprintf("%s beyond maxStacks (%d): plan with /cairn plan NAMESPACE/NAME",
			count(n, "affected Stack", "affected Stacks"), pr.MaxStacks)
		names := strings.Join(slices.Sorted(slices.Values(pr.Skipped)), "\n")
		add(&d.details, section{title: title, url: pr.URL}, newBlock("text", names, f.Limit))
	}
	return d
}

var instructions = map[v1alpha1.PullRequestPhase]string{
	v1alpha1.PullRequestConflict: "Merge or rebase onto the base, resolve the conflicts, and push.",
	v1alpha1.PullRequestAwaitingCommand: "A plan executes code of the pull request. A user with the verb `plan` on " +
		"the affected Stacks can read the code of this head commit, and start its plans with the comment:",
	v1alpha1.PullRequestDraft: "Mark the pull request as ready for review to plan it.",
}

// details of the plan of a Stack, or of several whose plans read the same.
type details struct {
	stacks             []string
	about, notes, text string
	url                string
	open               bool
}

// addStacks adds the rows of the Stacks and the details of their plans. Those without changes are one entry, and so are
// plans that read the same.
func (d *document) addStacks(pr PullRequest) {
	var unchanged []string
	var all []details
	d.onMerge = len(pr.Dependents)+pr.MoreDependents > 0
	for _, s := range pr.sorted() {
		d.onMerge = d.onMerge || s.OnMerge != nil || s.Deferred
		if s.isUnchanged() {
			unchanged = append(unchanged, s.key())
		}
	}
	for _, s := range pr.sorted() {
		if len(unchanged) > 1 && s.isUnchanged() {
			continue
		}
		d.addRow(pr, s)
		one := detailsOf(s)
		i := slices.IndexFunc(all, func(of details) bool {
			return one.text != "" && of.text == one.text && of.about == one.about && of.notes == one.notes
		})
		if i < 0 {
			all = append(all, one)
		} else {
			all[i].stacks = append(all[i].stacks, one.stacks...)
		}
	}
	d.addDependents(pr)
	for _, one := range all {
		d.addDetails(one)
	}
	if n := len(unchanged); n > 1 {
		add(&d.details, section{title: count(n, "Stack", "Stacks") + " without changes", url: d.url},
			newBlock("text", strings.Join(unchanged, "\n"), d.Limit))
	}
}

// addDependents adds the rows of Stacks that the merge changes through outputs.
func (d *document) addDependents(pr PullRequest) {
	for _, s := range pr.Dependents {
		d.rows = append(d.rows, fmt.Sprintf("| %s | Not affected by the code |  |  | %s |\n",
			cell(s.Namespace+"/"+s.Name),
			cell(shorten.Characters(s.Message, longestReason))))
	}
	if n := pr.MoreDependents; n > 0 {
		d.rows = append(d.rows,
			fmt.Sprintf("| %s | Not affected by the code |  |  | May be planned after the merge |\n",
				count(n, "more Stack", "more Stacks")))
	}
}

func (d *document) addRow(pr PullRequest, s Stack) {
	phase := cmp.Or(string(s.Phase), "Queued")
	if (pr.Phase != v1alpha1.PullRequestPlanned || s.isUnplanned()) && s.Phase == "" {
		phase = "Not planned"
	}
	if s.AwaitsCommand {
		phase = "Waits for a command"
	}
	if s.Deferred {
		phase = "Deferred"
	}
	if s.Approval != "" {
		phase += ", " + cell(s.Approval)
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", link(cell(s.key()), s.URL), phase, s.changes(), s.policies())
	if d.onMerge {
		row += " " + s.onMerge() + " |"
	}
	d.rows = append(d.rows, row+"\n")
}

func (d *document) addDetails(one details) {
	names := one.stacks
	if n := len(names); n > 1 {
		list := strings.Join(names, "\n") + "\nTheir plans read the same. Sensitive values, which are masked, " +
			"may differ.\n" + one.notes
		add(&d.details, section{title: count(n, "Stack", "Stacks") + ": " + one.about, url: d.url},
			newBlock("text", list, d.Limit), newBlock("diff", one.text, d.Limit))
		return
	}
	name := element(names[0])
	if d.Plain {
		name = span(names[0])
	}
	add(&d.details, section{title: name + ": " + cmp.Or(one.about, "no plan"), url: cmp.Or(one.url, d.url),
		open: one.open},
		newBlock("text", one.notes, d.Limit), newBlock("diff", one.text, d.Limit))
}

// detailsOf returns the details of the plan of a Stack.
func detailsOf(s Stack) details {
	state, why := s.result()
	about := s.changes()
	switch {
	case state == Failure:
		about = why
	case s.Deferred:
		about = "deferred"
	}
	var notes strings.Builder
	note := func(format string, args ...any) { fmt.Fprintf(&notes, format+"\n", args...) }
	if s.DeletedDirectory != "" {
		note("The pull request deletes the directory %s. The merge destroys nothing: this is what the deletion of "+
			"the Stack would do.",
			plan.Escape(s.DeletedDirectory))
	}
	if s.New && s.Plan != nil {
		note("A StackSet would create this Stack after the merge. The plan begins with an empty state.")
	}
	if s.UnappliedRun != "" {
		note("The plan includes changes of the base that were not applied when it ended: Run %s has them.",
			plan.Escape(s.UnappliedRun))
	}
	if s.OnMerge != nil && size(s.OnMerge.Message) > longestReason { // else the table has it
		note("After the merge: %s", plan.Escape(s.OnMerge.Message))
	}
	if s.Plan != nil && s.Plan.Partial != "" {
		note("This plan does not have all changes of the code: %s", plan.Escape(s.Plan.Partial))
	}
	if s.Plan != nil && s.Backend != "" {
		note("Planned with Cairn's copy of the state in backend %s, as the last Run of the Stack read it: without "+
			"what users changed there since.",
			plan.Escape(s.Backend))
	}
	if s.Plan != nil && s.Plan.Unverified != "" {
		note("What is shown of this plan is as its pod reported it: %s", plan.Escape(s.Plan.Unverified))
	}
	if s.Failure != "" && (!s.Deferred || size(s.Failure) > longestReason) { // else the table has it
		note("%s", s.Failure)
	}
	if s.Plan != nil && s.Plan.Policy != nil {
		for _, f := range s.Plan.Policy.Findings {
			note("%s by policy %s: %s", plan.Escape(f.Action), plan.Escape(f.Policy), plan.Escape(f.Message))
		}
	}
	return details{
		stacks: []string{s.key()}, about: about, notes: notes.String(), text: s.Text, url: s.URL,
		open: state == Failure || s.AwaitsCommand,
	}
}

// addStackSet adds what the merge changes in the list of a StackSet. One with an error is above the table.
func (d *document) addStackSet(pr PullRequest, s v1alpha1.PullRequestStackSet) {
	key := s.Namespace + "/" + s.Name
	name := element(key)
	if d.Plain {
		name = span(key)
	}
	to, about := &d.details, runinfo.Effects(s)
	if s.Reason != "" {
		to, about = &d.above, plan.Escape(s.Reason)+" after the merge"
	}
	var list strings.Builder
	for _, stack := range s.Stacks {
		list.WriteString(plan.Escape(runinfo.EffectLine(stack)) + "\n")
	}
	notes := slices.Concat([]string{s.Message}, runinfo.EffectNotes(s))
	add(to, section{title: "StackSet " + name + ": " + cmp.Or(about, "writes nothing"), url: pr.URL},
		newBlock("text", strings.Join(notes, "\n"), d.Limit), newBlock("diff", list.String(), d.Limit))
}

// add adds a section, if it has any lines.
func add(all *[]section, s section, blocks ...block) {
	for _, b := range blocks {
		if len(b.lines) > 0 {
			s.blocks = append(s.blocks, b)
		}
	}
	if len(s.blocks) > 0 {
		*all = append(*all, s)
	}
}

// write writes the document with details of at most a number of characters each, and a number of rows.
func (d *document) write(longest, rows int) string {
	var b strings.Builder
	hidden := 0
	details := func(s section) {
		text := s.write(longest, d.Plain)
		if text == "" {
			hidden++
		}
		b.WriteString(text)
	}
	b.WriteString(d.head)
	for _, s := range d.above {
		details(s)
	}
	after := min(rows, len(d.after))
	if len(d.after) > 0 {
		b.WriteString("| Stack | " + d.afterTitle + " | Next |\n|---|---|---|\n" + strings.Join(d.after[:after], "") +
			"\n")
	}
	if len(d.after) > 0 && len(d.rows) > 0 {
		b.WriteString("The plans before " + d.plansBefore + ":\n\n")
	}
	if len(d.rows) > 0 {
		head := "| Stack | Phase | Plan | Policies |\n|---|---|---|---|\n"
		if d.onMerge {
			head = "| Stack | Phase | Plan | Policies | When merged |\n|---|---|---|---|---|\n"
		}
		b.WriteString(head + strings.Join(d.rows[:rows-after], "") + "\n")
	}
	if n := len(d.after) + len(d.rows) - rows; n > 0 {
		fmt.Fprintf(&b, "%s: see the %s.\n\n", count(n, "more Stack", "more Stacks"), link("web UI", d.url))
	}
	for _, s := range d.details {
		details(s)
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "%s not shown: see the %s.\n\n",
			count(hidden, "section of details is", "sections of details are"),
			link("web UI", d.url))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// frame returns what is before and after the blocks.
func (s section) frame(plain bool) (before, after string) {
	if plain {
		return "### " + s.title + "\n\n", ""
	}
	if s.open {
		return "<details open><summary>" + s.title + "</summary>\n\n", "</details>\n\n"
	}
	return "<details><summary>" + s.title + "</summary>\n\n", "</details>\n\n"
}

// size is the size of the whole section.
func (s section) size(plain bool) int {
	before, after := s.frame(plain)
	n := size(before) + size(after)
	for _, k := range s.blocks {
		n += k.size
	}
	return n
}

// write writes as many lines as fit; nothing if none does.
func (s section) write(longest int, plain bool) string {
	before, after := s.frame(plain)
	total := 0
	for _, k := range s.blocks {
		total += len(k.lines) + k.more
	}
	more := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%s: see the %s.\n\n", count(n, "more line", "more lines"), link("web UI", s.url))
	}
	// The note is counted at its longest, so a further line cannot shorten the rest.
	left := longest - size(before) - size(after)
	room, shown := left-size(more(total)), 0
	whole := s.lines(left, &shown)
	if shown < total {
		shown = 0
		whole = s.lines(room, &shown)
	}
	if shown == 0 {
		return ""
	}
	return before + whole + more(total-shown) + after
}

// lines writes as many lines as fit, in whole blocks.
func (s section) lines(left int, shown *int) string {
	var b strings.Builder
	for _, k := range s.blocks {
		begin, end := k.fence+k.language+"\n", k.fence+"\n\n"
		left -= size(begin) + size(end)
		n := 0
		for ; n < len(k.lines); n++ {
			if left -= size(k.lines[n]) + 1; left < 0 {
				break
			}
		}
		if n == 0 {
			break
		}
		b.WriteString(begin + strings.Join(k.lines[:n], "\n") + "\n" + end)
		*shown += n
		if n < len(k.lines) || k.more > 0 {
			break
		}
	}
	return b.String()
}
