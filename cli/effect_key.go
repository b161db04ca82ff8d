package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// effectPayload is what an effect applies. Its RFC 8785 form is hashed to the
// payload digest of an intent.
type effectPayload struct {
	Command []string `json:"command"`
	Commit  string   `json:"commit"`
	Parts   []string `json:"parts"`
	Probe   []string `json:"probe"`
	Target  string   `json:"target"`
	// Compensates is the key of the effect that this one undoes.
	Compensates string `json:"compensates,omitzero"`
}

// effectInput is what an effect depends on. Its RFC 8785 form is hashed to the
// input digest of an intent, where none is given.
type effectInput struct {
	Commit   string `json:"commit"`
	Contract string `json:"contract"`
	Payload  string `json:"payload"`
}

// call is one effect as "deed effect run" was asked for it.
type call struct {
	task    string
	intent  events.Intent
	command []string
	// env holds the "NAME=value" entries that the caller passes on.
	env     []string
	timeout time.Duration
	repo    *workspace.Repo
}

// complete derives what the command line left out: the commit, the digests,
// the key. The same command on the same commit under the same contract gives
// the same key.
func (c *call) complete(ctx context.Context, t *projections.Task) (err error) {
	d := &c.intent
	contract := t.Contract()
	if d.Git != nil {
		return nil // complete as it is
	}
	if contract == nil {
		return refuseState("effect", "task %s has no accepted contract", t.ID)
	}
	if d.Commit, err = c.repo.ResolveCommit(ctx, first(d.Commit, "HEAD")); err != nil {
		return fmt.Errorf("find the effect's commit: %w", err)
	}
	slices.Sort(d.Parts)
	if d.PayloadDigest == "" {
		h, err := events.DigestOf(effectPayload{Command: c.command, Commit: d.Commit, Parts: d.Parts, Probe: d.Probe, Target: d.Target, Compensates: d.Compensates})
		if err != nil {
			return err
		}
		d.PayloadDigest = h.String()
	}
	if d.InputDigest == "" {
		h, err := events.DigestOf(effectInput{Commit: d.Commit, Contract: contract.Digest, Payload: d.PayloadDigest})
		if err != nil {
			return err
		}
		d.InputDigest = h.String()
	}
	if d.Key != "" {
		return nil
	}
	d.Key, err = events.Identity{InputDigest: d.InputDigest, Kind: d.Kind, Occurrence: d.Occurrence, Target: d.Target, Task: t.ID}.Key()
	return err
}

// sameIntent refuses an effect that has the call's key and another intent.
func (c *call) sameIntent(e *projections.Effect) error {
	data, err := events.EncodeData(&c.intent)
	if err != nil {
		return err
	}
	if here := events.Sum(data).String(); here != e.Payload {
		return refuse(ledger.CodeRule, "effect.intended/key", "key %s is in use with another payload: there %s, here %s", c.intent.Key, e.Payload, here)
	}
	return nil
}

// token makes the correlation token of one try: 128 random bits in hex.
func (s *session) token() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(s.env.Random, b); err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// minKeyPrefix is the shortest beginning of a key that may stand for it.
const minKeyPrefix = 6

// findEffect returns the task's effect with a key, or with the only key that
// begins so.
func findEffect(t *projections.Task, key string) (*projections.Effect, error) {
	if e := t.Effect(key); e != nil {
		return e, nil
	}
	var found *projections.Effect
	for i := range t.Effects {
		if len(key) < minKeyPrefix || !strings.HasPrefix(t.Effects[i].Intent.Key, key) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%w: %q begins more than one key of task %s", errUsage, key, t.ID)
		}
		found = &t.Effects[i]
	}
	if found == nil {
		return nil, fmt.Errorf("%w: task %s has no effect with key %q: deed effect list %s", errMissing, t.ID, key, t.ID)
	}
	return found, nil
}

// effectOf reads a task and finds one of its effects.
func (s *session) effectOf(ctx context.Context, task, key string) (protocol.TaskState, *projections.Effect, error) {
	state, err := s.existing(ctx, task)
	if err != nil {
		return state, nil, err
	}
	e, err := findEffect(state.Task, key)
	return state, e, err
}
