package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// mostNamed is how many commits a message names.
const mostNamed = 3

// missingCommits is ErrNoRef: branches and tags were fetched, some commits could not be.
type missingCommits struct {
	message string
	// cause is what kept a commit away that the remote may have, nil when it has none of them.
	cause error
}

func (e *missingCommits) Error() string { return e.message }

// Unwrap is not the cause: what befell one commit is no trouble of the Repository.
func (e *missingCommits) Unwrap() error { return ErrNoRef }

// fetchCommits fetches by ID, one after the other: one that cannot be had keeps none of the others away.
func (s *session) fetchCommits(ctx context.Context, ids []string) error {
	var unknown []string
	var cause error
	for _, id := range ids {
		switch err := s.fetchCommit(ctx, id); {
		case err == nil:
		case errors.Is(err, errDamaged) || errors.Is(ctx.Err(), context.Canceled):
			return err
		case errors.Is(err, ErrNoRef):
			unknown = append(unknown, short(id))
		case cause == nil:
			cause = fmt.Errorf("commit %s: %w", id, err)
		}
	}
	var said []string
	if len(unknown) > 0 {
		said = append(said, fmt.Sprintf("fetch %s: the repository has no such commit: %s", s.remote.URL, named(unknown)))
	}
	if cause != nil {
		said = append(said, cause.Error())
	}
	if said == nil {
		return nil
	}
	return &missingCommits{strings.Join(said, "; "), cause}
}

func (s *session) fetchCommit(ctx context.Context, id string) error {
	if !isID(id) { // git could take it for something else
		return fail(ErrNoRef, "%.100q is not the full ID of a commit", id)
	}
	_, err := s.m.readers.read(ctx, id+"^{commit}", "commit", mostCommit)
	if isMissing(err) {
		err = s.fetch(ctx, id)
	}
	return s.explain(err)
}

// named lists the first few.
func named(ids []string) string {
	if len(ids) <= mostNamed {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:mostNamed], ", "), len(ids)-mostNamed)
}
