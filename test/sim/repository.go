package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// Stacks from git, in some histories:
//
//	push ──► commit of the remote ──► fetch ──► mirror of a manager ──► event ──► Stacks whose code changed
//
// A fetch can be between any two reads of a reconciliation. A manager that starts has an empty mirror.

// commit has the version of each Stack's code.
type commit map[string]int

// mirror is what a manager fetched of the Repository. It is code.Git with the contract of code.Codes.
type mirror struct {
	sim *simulation
	// at is the index of the commit; -1 before the first fetch.
	at int
	// moved are the Stacks for which the event of the last fetch is not handled yet.
	moved    []string
	observed map[types.UID]string
}

func (sim *simulation) newMirror() *mirror {
	return &mirror{sim: sim, at: -1, observed: map[types.UID]string{}}
}

// push adds a commit that changes one Stack or both, or takes the last commit back.
func push(sim *simulation, _, _ int) {
	sim.pushes--
	n := len(sim.commits)
	next := maps.Clone(sim.commits[n-1])
	switch change := sim.rand(6); {
	case change == 5 && n > 1:
		next = sim.commits[n-2]
	default:
		for i, name := range []string{"net", "app"} {
			if change != i {
				next[name] = n
			}
		}
	}
	sim.tracef("alice pushes %v", next)
	sim.addCommit(next)
}

// addCommit adds a commit, whose archives are in the bucket: to create them is the matter of other tests.
func (sim *simulation) addCommit(c commit) {
	sim.commits = append(sim.commits, c)
	for name, version := range c {
		sim.putArchive(name, version)
	}
}

func (sim *simulation) putArchive(name string, version int) {
	key := codeKey(name, version)
	if len(sim.pulls) > 0 {
		sim.codes[archiveOf(key)] = (version + version/1000) % 5
	}
	_ = sim.shared.bytes.Put(ctx, "closures/"+key, []byte(archiveOf(key)))
	_ = sim.shared.bytes.Put(ctx, "sources/"+archiveOf(key), []byte(key))
}

func codeKey(stack string, version int) string { return fmt.Sprintf("%s-%d", stack, version) }

func archiveOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// headOf is the archive of a Stack's code at the newest commit.
func (sim *simulation) headOf(stack string) string {
	return archiveOf(codeKey(stack, sim.commits[len(sim.commits)-1][stack]))
}

// ofPushes returns a push, rarely while a Stack is not Ready.
func (sim *simulation) ofPushes() {
	switch {
	case sim.pushes == 0:
	case sim.ready() > 1:
		sim.can(8, push, 0, 0)
	case sim.step%8 == 0:
		sim.can(1, push, 0, 0)
	}
}

// ready returns the number of Stacks that are Ready.
func (sim *simulation) ready() (n int) {
	for _, o := range sim.api.objects[stacks] {
		if decision.ReadyOf(o.(*v1alpha1.Stack).Status).Status == metav1.ConditionTrue {
			n++
		}
	}
	return n
}

// ofMirror returns the fetch of a manager, and the event of its last one.
func (sim *simulation) ofMirror(i int, m *manager) {
	if m.mirror.at < len(sim.commits)-1 {
		sim.can(2, fetch, i, 0)
	}
	if len(m.mirror.moved) > 0 {
		sim.can(4, enqueueMoved, i, 0)
	}
}

func fetch(sim *simulation, i, _ int) {
	m := sim.managers[i].mirror
	m.at, m.moved = len(sim.commits)-1, []string{"app", "net"}
	sim.tracef("manager %d fetches commit %d", i, m.at)
}

// enqueueMoved enqueues a Stack if its code changed, as the operator does one by one: others are reconciled meanwhile.
func enqueueMoved(sim *simulation, i, _ int) {
	m := sim.managers[i]
	name := m.mirror.moved[0]
	m.mirror.moved = m.mirror.moved[1:]
	if s, ok := find(m.view.objects[stacks], name).(*v1alpha1.Stack); ok && m.mirror.Changed(ctx, nil, s) {
		sim.tracef("manager %d enqueues Stack %s, whose code changed", i, name)
		m.add(ofStack, name)
	}
}

func (m *mirror) key(stack *v1alpha1.Stack) string {
	return codeKey(stack.Name, m.sim.commits[m.at][stack.Name])
}

func (m *mirror) Of(_ context.Context, _ *v1alpha1.Repository, stack *v1alpha1.Stack) (code.GitCode, error) {
	m.sim.pause()
	if m.at < 0 {
		return code.GitCode{}, repository.ErrNotFetched
	}
	id := fmt.Sprintf("%040x", m.at)
	return code.GitCode{
		Closure: closure.Closure{Digest: m.key(stack)}, Key: m.key(stack), Revision: "main@sha1:" + id,
		URL:    "https://git/infra",
		Commit: git.Commit{ID: id, Author: "alice", Subject: "change"},
	}, nil
}

func (m *mirror) Observe(ctx context.Context, r *v1alpha1.Repository, stack *v1alpha1.Stack) (code.GitCode, error) {
	delete(m.observed, stack.UID)
	code, err := m.Of(ctx, r, stack)
	if err == nil {
		m.observed[stack.UID] = code.Key
	}
	return code, err
}

func (m *mirror) Changed(_ context.Context, _ *v1alpha1.Repository, stack *v1alpha1.Stack) bool {
	known, ok := m.observed[stack.UID]
	return !ok || m.at < 0 || known != m.key(stack)
}

func (m *mirror) Forget(stack *v1alpha1.Stack) { delete(m.observed, stack.UID) }

func (m *mirror) Contributors(context.Context, *v1alpha1.Repository, *v1alpha1.Stack, string,
	string) (code.Contributors, error) {
	panic("no Stack prevents self-approval")
}

// Base reports whether there was a fetch, as no history reads another branch.
func (m *mirror) Base(context.Context, *v1alpha1.Repository, string) (string, error) {
	if m.at < 0 {
		return "", repository.ErrNotFetched
	}
	return fmt.Sprintf("%040x", m.at), nil
}

// At is for Stacks of Pipelines, of which no history has any.
func (m *mirror) At(context.Context, *v1alpha1.Repository, *v1alpha1.Stack, string) (code.GitCode, error) {
	panic("no Pipeline selects a Stack")
}

func (m *mirror) CommitContributors(context.Context, *v1alpha1.Repository, *v1alpha1.Stack, string) ([]git.Contributor,
	error) {
	panic("no Stack prevents self-approval")
}
